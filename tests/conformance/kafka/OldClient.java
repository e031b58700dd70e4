import java.time.Duration;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Writes a topic in every codec and in transactions, one of which is aborted, with offsets for a group, and reads it back as that
 * group, committed records only. Prints the values that were read, in order, and the group's offset in partition 0 before that.
 */
public class OldClient {
    public static void main(String[] args) throws Exception {
        Map<String, Object> config = new HashMap<>();
        config.put("bootstrap.servers", args[0]);
        String topic = args[1];
        for (String codec : new String[] {"none", "gzip", "snappy", "lz4", "zstd"}) {
            Map<String, Object> own = new HashMap<>(config);
            own.put("compression.type", codec);
            try (KafkaProducer<String, String> producer = producer(own)) {
                producer.send(new ProducerRecord<>(topic, codec)).get();
            }
        }
        Map<String, Object> transactional = new HashMap<>(config);
        transactional.put("transactional.id", topic);
        try (KafkaProducer<String, String> producer = producer(transactional)) {
            producer.initTransactions();
            for (String end : new String[] {"committed", "aborted"}) {
                long offset = end.equals("committed") ? 2 : 4;
                producer.beginTransaction();
                producer.send(new ProducerRecord<>(topic, end)).get();
                producer.sendOffsetsToTransaction(
                    Collections.singletonMap(new TopicPartition(topic, 0), new OffsetAndMetadata(offset)), topic);
                if (end.equals("committed")) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
            }
        }
        config.put("group.id", topic);
        config.put("auto.offset.reset", "earliest");
        config.put("isolation.level", "read_committed");
        try (KafkaConsumer<String, String> consumer =
                new KafkaConsumer<>(config, new StringDeserializer(), new StringDeserializer())) {
            System.out.println(consumer.committed(new TopicPartition(topic, 0)).offset());
            consumer.subscribe(Collections.singleton(topic));
            TreeSet<String> seen = new TreeSet<>();
            for (long end = System.currentTimeMillis() + 60_000; seen.size() < 4 && System.currentTimeMillis() < end; ) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(500))) {
                    seen.add(record.value());
                }
            }
            System.out.println(String.join(" ", seen));
        }
    }

    private static KafkaProducer<String, String> producer(Map<String, Object> config) {
        return new KafkaProducer<>(config, new StringSerializer(), new StringSerializer());
    }
}
