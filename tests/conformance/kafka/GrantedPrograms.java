import java.io.BufferedReader;
import java.io.FileReader;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.io.Reader;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicIdPartition;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.apache.kafka.common.utils.Exit;
import org.apache.kafka.connect.cli.ConnectDistributed;
import org.apache.kafka.connect.runtime.AbstractStatus;
import org.apache.kafka.connect.runtime.Connect;
import org.apache.kafka.connect.runtime.distributed.DistributedHerder;
import org.apache.kafka.connect.runtime.rest.entities.ConnectorStateInfo;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.errors.StreamsUncaughtExceptionHandler.StreamThreadExceptionResponse;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.state.Stores;

/**
 * Programs of users who may do what they need, or a little less, all at once: each reads the topic "in" and writes to "out".
 *
 * Argument: the properties of a user who may do everything. In: per program a line with its kind, its name, which is also that
 * of its group, its transactional id and its internal topics, and the file with its user's properties. Out, in the same order:
 * "done", or which of Kafka's errors ended it.
 */
public class GrantedPrograms {
    private static final Duration PATIENCE = Duration.ofSeconds(100);
    private static final Duration PAUSE = Duration.ofMillis(100);

    private interface Program {
        void run(String name, Map<String, Object> config) throws Exception;
    }

    private static final class Unfinished extends Exception {}

    private static final Map<String, Program> PROGRAMS = Map.of(
        "client", GrantedPrograms::client,
        "transaction", GrantedPrograms::transaction,
        "share", GrantedPrograms::share,
        "streams", GrantedPrograms::streams,
        "connect", GrantedPrograms::connect);

    private static Map<String, Object> everything;

    public static void main(String[] args) throws Exception {
        everything = properties(args[0]);
        Exit.Procedure exit = (code, message) -> {
            throw new IllegalStateException("a worker ended");
        };
        Exit.setExitProcedure(exit);
        Exit.setHaltProcedure(exit);
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        ExecutorService threads = Executors.newCachedThreadPool();
        List<Future<String>> outcomes = new ArrayList<>();
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] words = line.split(" ");
            outcomes.add(threads.submit(() -> outcome(words[0], words[1], words[2])));
        }
        for (Future<String> outcome : outcomes) {
            System.out.println(outcome.get());
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static String outcome(String kind, String name, String file) {
        try {
            PROGRAMS.get(kind).run(name, properties(file));
            return "done";
        } catch (Exception | Error failure) {
            failure.printStackTrace();
            return refusal(failure);
        }
    }

    /** The innermost of Kafka's own errors, also where only their names are left of them; else what there is. */
    private static String refusal(Throwable failure) {
        StringWriter told = new StringWriter();
        failure.printStackTrace(new PrintWriter(told));
        Matcher names = Pattern.compile("org\\.apache\\.kafka\\.common\\.errors\\.(\\w+)").matcher(told.toString());
        String found = failure.getClass().getSimpleName();
        while (names.find()) {
            found = names.group(1);
        }
        return found;
    }

    /** Writes to "in" and reads that in its group; may do neither with "out", nor be in another group. */
    private static void client(String name, Map<String, Object> config) throws Exception {
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(config, new StringSerializer(), new StringSerializer())) {
            producer.send(new ProducerRecord<>("in", name, "x")).get();
            Exception refused = assertThrows(() -> producer.send(new ProducerRecord<>("out", name, "x")).get());
            expect(refusal(refused).equals("TopicAuthorizationException"));
        }
        read(name, with(config, "group.id", name));
        Exception refused = assertThrows(() -> {
            read(name, with(config, "group.id", "others"));
            return null;
        });
        expect(refusal(refused).equals("GroupAuthorizationException"));
    }

    private static void read(String name, Map<String, Object> config) throws Exception {
        try (KafkaConsumer<String, String> consumer = consumer(config)) {
            consumer.subscribe(List.of("in"));
            for (long end = end(); ; ) {
                expect(System.nanoTime() < end);
                for (ConsumerRecord<String, String> record : consumer.poll(PAUSE)) {
                    if (name.equals(record.key())) {
                        consumer.commitSync();
                        return;
                    }
                }
            }
        }
    }

    private static Exception assertThrows(Callable<?> attempt) throws Unfinished {
        try {
            attempt.call();
        } catch (Exception refused) {
            return refused;
        }
        throw new Unfinished();
    }

    private static void transaction(String name, Map<String, Object> config) throws Exception {
        Map<String, Object> writing = with(config, "transactional.id", name);
        try (KafkaProducer<String, String> producer = new KafkaProducer<>(writing, new StringSerializer(), new StringSerializer());
                KafkaConsumer<String, String> consumer = consumer(with(config, "group.id", name))) {
            producer.initTransactions();
            consumer.subscribe(List.of("in"));
            Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
            producer.beginTransaction();
            for (long end = end(); offsets.isEmpty(); ) {
                expect(System.nanoTime() < end);
                for (ConsumerRecord<String, String> record : consumer.poll(PAUSE)) {
                    producer.send(new ProducerRecord<>("out", name, record.value()));
                    offsets.put(new TopicPartition("in", record.partition()), new OffsetAndMetadata(record.offset() + 1));
                }
            }
            producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
            producer.commitTransaction();
        }
        awaitWritten(name);
    }

    private static void share(String name, Map<String, Object> config) throws Exception {
        Map<String, Object> own = with(config, "group.id", name, "share.acknowledgement.mode", "explicit");
        try (KafkaShareConsumer<String, String> consumer =
                new KafkaShareConsumer<>(own, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of("in"));
            ConsumerRecords<String, String> records = ConsumerRecords.empty();
            for (long end = end(); records.isEmpty(); records = consumer.poll(PAUSE)) {
                expect(System.nanoTime() < end);
            }
            records.forEach(consumer::acknowledge);
            for (Map.Entry<TopicIdPartition, Optional<KafkaException>> each : consumer.commitSync().entrySet()) {
                if (each.getValue().isPresent()) {
                    throw each.getValue().get();
                }
            }
        }
    }

    /** Counts, so that there are a topic to partition anew and one with the store's changes. */
    private static void streams(String name, Map<String, Object> config) throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        builder.<String, String>stream("in")
            .groupBy((key, value) -> value, Grouped.as("words"))
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts")).withValueSerde(Serdes.Long()))
            .toStream()
            .map((word, count) -> new org.apache.kafka.streams.KeyValue<>(name, word + " " + count))
            .to("out");
        Properties own = new Properties();
        own.putAll(with(config, "application.id", name, "processing.guarantee", "exactly_once_v2", "commit.interval.ms", "100",
            "state.dir", Files.createTempDirectory(Path.of(config.get("directory").toString()), name).toString(),
            "default.key.serde", Serdes.StringSerde.class.getName(), "default.value.serde", Serdes.StringSerde.class.getName()));
        CompletableFuture<Throwable> failed = new CompletableFuture<>();
        KafkaStreams streams = new KafkaStreams(builder.build(), own);
        streams.setUncaughtExceptionHandler(failure -> {
            failed.complete(failure);
            return StreamThreadExceptionResponse.SHUTDOWN_CLIENT;
        });
        try {
            streams.start();
            awaitWritten(name, failed);
        } finally {
            // One that ended by an error waits for minutes now and then, at Kafka's own brokers too; the process ends without it.
            streams.close(PATIENCE.dividedBy(10));
        }
    }

    /** A worker of a cluster of its own that copies a file into a topic exactly once, and the topic into another file. */
    private static void connect(String name, Map<String, Object> config) throws Exception {
        Path directory = Files.createTempDirectory(Path.of(config.get("directory").toString()), name);
        Path source = Files.writeString(directory.resolve("source"), "a line\n");
        Path target = directory.resolve("target");
        Map<String, String> worker = new HashMap<>();
        config.forEach((key, value) -> {
            for (String client : new String[] {"", "producer.", "consumer.", "admin."}) {
                worker.put(client + key, value.toString());
            }
        });
        worker.putAll(Map.of("group.id", name, "listeners", "http://127.0.0.1:0", "plugin.discovery", "service_load",
            "key.converter", "org.apache.kafka.connect.storage.StringConverter",
            "value.converter", "org.apache.kafka.connect.storage.StringConverter",
            "exactly.once.source.support", "enabled", "offset.flush.interval.ms", "200"));
        for (String kind : new String[] {"config", "offset", "status"}) {
            worker.put(kind + ".storage.topic", name + "-" + kind);
            worker.put(kind + ".storage.replication.factor", "1");
        }
        worker.put("offset.storage.partitions", "1");
        worker.put("status.storage.partitions", "1");
        Map<String, Map<String, String>> connectors = new LinkedHashMap<>();
        connectors.put("source", Map.of("name", "source", "connector.class", "FileStreamSource", "tasks.max", "1",
            "file", source.toString(), "topic", "copied-" + name));
        connectors.put("sink-" + name, Map.of("name", "sink-" + name, "connector.class", "FileStreamSink", "tasks.max", "1",
            "file", target.toString(), "topics", "copied-" + name));
        Connect<DistributedHerder> connect = new ConnectDistributed().startConnect(worker);
        try {
            for (Map.Entry<String, Map<String, String>> each : connectors.entrySet()) {
                CompletableFuture<Throwable> told = new CompletableFuture<>();
                connect.herder().putConnectorConfig(each.getKey(), each.getValue(), true, (error, made) -> told.complete(error));
                for (long end = end(); !told.isDone(); ) {
                    expectRunning(connect, end);
                }
                if (told.get() != null) {
                    throw new Exception(told.get());
                }
            }
            for (long end = end(); !Files.exists(target) || !Files.readString(target).contains("a line"); ) {
                expectRunning(connect, end);
                for (String connector : connectors.keySet()) {
                    expectNotFailed(connect, connector);
                }
            }
        } finally {
            connect.stop();
        }
    }

    private static void expectRunning(Connect<DistributedHerder> connect, long end) throws Exception {
        expect(System.nanoTime() < end);
        if (connect.herderTask().isDone()) {
            connect.herderTask().get();
        }
        Thread.sleep(PAUSE.toMillis());
    }

    private static void expectNotFailed(Connect<DistributedHerder> connect, String connector) throws Exception {
        ConnectorStateInfo told;
        try {
            told = connect.herder().connectorStatus(connector);
        } catch (org.apache.kafka.connect.errors.NotFoundException notYet) {
            return;
        }
        List<ConnectorStateInfo.AbstractState> states = new ArrayList<>(told.tasks());
        states.add(told.connector());
        for (ConnectorStateInfo.AbstractState state : states) {
            if (state.state().equals(AbstractStatus.State.FAILED.name())) {
                throw new Exception(connector + " " + state.trace());
            }
        }
    }

    private static void awaitWritten(String name) throws Exception {
        awaitWritten(name, new CompletableFuture<>());
    }

    /** Until the record with this key can be read by whoever wants committed ones only, or something has failed. */
    private static void awaitWritten(String name, CompletableFuture<Throwable> failed) throws Exception {
        try (KafkaConsumer<String, String> reader = consumer(everything)) {
            TopicPartition out = new TopicPartition("out", 0);
            reader.assign(List.of(out));
            reader.seekToBeginning(List.of(out));
            for (long end = end(); ; ) {
                expect(System.nanoTime() < end);
                if (failed.isDone()) {
                    throw new Exception(failed.get());
                }
                for (ConsumerRecord<String, String> record : reader.poll(PAUSE)) {
                    if (name.equals(record.key())) {
                        return;
                    }
                }
            }
        }
    }

    private static KafkaConsumer<String, String> consumer(Map<String, Object> config) {
        Map<String, Object> own = with(config, "auto.offset.reset", "earliest", "isolation.level", "read_committed",
            "enable.auto.commit", "false");
        return new KafkaConsumer<>(own, new StringDeserializer(), new StringDeserializer());
    }

    private static long end() {
        return System.nanoTime() + PATIENCE.toNanos();
    }

    private static void expect(boolean holds) throws Unfinished {
        if (!holds) {
            throw new Unfinished();
        }
    }

    private static Map<String, Object> with(Map<String, Object> config, String... more) {
        Map<String, Object> own = new HashMap<>(config);
        for (int at = 0; at < more.length; at += 2) {
            own.put(more[at], more[at + 1]);
        }
        return own;
    }

    private static Map<String, Object> properties(String file) throws Exception {
        Properties read = new Properties();
        try (Reader reader = new FileReader(file, StandardCharsets.UTF_8)) {
            read.load(reader);
        }
        Map<String, Object> config = new HashMap<>();
        read.forEach((key, value) -> config.put(key.toString(), value));
        return config;
    }
}
