import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.HexFormat;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;

/**
 * Kafka's own codec behind two commands: `schemas` prints the fields of every message and of the classes named after
 * it; `rewrite` reads lines of "request|response|stored, API key or class, version, hex" and prints what Kafka writes
 * after having read them; without the last word, a message of defaults.
 */
public class Codec {
    public static void main(String[] arguments) throws Exception {
        if (arguments[0].equals("schemas")) {
            for (ApiMessageType api : ApiMessageType.values()) {
                print("request " + api.apiKey(), api.requestSchemas());
                print("response " + api.apiKey(), api.responseSchemas());
            }
            for (int i = 1; i < arguments.length; i++)
                print("stored " + arguments[i], (Schema[]) Class.forName(arguments[i]).getField("SCHEMAS").get(null));
            return;
        }
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine())
            System.out.println(rewrite(line.split(" ", -1)));
    }

    private static String rewrite(String[] words) {
        try {
            short version = Short.parseShort(words[2]);
            ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(words.length == 4 ? words[3] : ""));
            Message message = empty(words[0], words[1]);
            if (words.length == 4)
                message.read(new ByteBufferAccessor(bytes), version);
            if (bytes.hasRemaining())
                return "left " + bytes.remaining() + " bytes";
            ByteBuffer written = MessageUtil.toByteBufferAccessor(message, version).buffer();
            byte[] result = new byte[written.remaining()];
            written.get(result);
            return HexFormat.of().formatHex(result);
        } catch (Exception e) {
            return e.toString().replace('\n', ' ');
        }
    }

    private static Message empty(String kind, String name) throws Exception {
        if (kind.equals("stored"))
            return (Message) Class.forName(name).getConstructor().newInstance();
        ApiMessageType api = ApiKeys.forId(Short.parseShort(name)).messageType;
        return kind.equals("request") ? api.newRequest() : api.newResponse();
    }

    private static void print(String title, Schema[] schemas) {
        for (int version = 0; version < schemas.length; version++)
            if (schemas[version] != null)
                System.out.println(title + " " + version + " " + show(schemas[version]));
    }

    private static String show(Type type) {
        if (type instanceof Schema)
            return struct((Schema) type);
        if (type.isArray())
            return (type.isNullable() ? "?" : "") + "[" + show(type.arrayElementType().get()) + "]";
        return type.toString();
    }

    private static String struct(Schema schema) {
        StringBuilder text = new StringBuilder("{");
        for (BoundField field : schema.fields()) {
            if (field.def.type instanceof TaggedFields)
                ((TaggedFields) field.def.type).fields().forEach((tag, tagged) ->
                    text.append(tag).append("=").append(tagged.name).append(":").append(show(tagged.type)).append(";"));
            else
                text.append(field.def.name).append(":").append(show(field.def.type)).append(";");
        }
        return text.append("}").toString();
    }
}
