import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What an audit tells: which things there are, and how often each rule of the tables is broken. */
final class Audits {
    private Audits() {
    }

    /** As JSON: how many things a statement finds, the sum of the hashes of their ids, and the rules. */
    static String audit(Connection c, String what, String statement, Map<String, String> rules) throws SQLException {
        List<Object[]> held = Database.rows(c, statement);
        long sum = held.stream().mapToLong(row -> hash((String) row[0])).sum();
        List<String> told = new ArrayList<>();
        for (Map.Entry<String, String> rule : rules.entrySet()) {
            Object broken = Database.rows(c, rule.getValue()).get(0)[0];
            told.add("{\"rule\": \"" + rule.getKey() + "\", \"broken\": " + broken + "}");
        }
        return String.format("{\"%s\": {\"count\": %d, \"sum\": \"%016x\"}, \"rules\": [%s]}",
            what, held.size(), sum, String.join(", ", told));
    }

    /** FNV-1a of 64 bits, as the driver reckons it. */
    private static long hash(String text) {
        long hash = 0xcbf29ce484222325L;
        for (byte one : text.getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ (one & 0xff)) * 0x100000001b3L;
        }
        return hash;
    }
}
