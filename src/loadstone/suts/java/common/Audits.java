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

    /** As JSON: of each thing how many a statement finds and the sum of the hashes of their ids, and the rules. */
    static String audit(Connection c, Map<String, String> held, Map<String, String> rules) throws SQLException {
        StringBuilder totals = new StringBuilder();
        for (Map.Entry<String, String> statement : held.entrySet()) {
            List<Object[]> rows = Database.rows(c, statement.getValue());
            long sum = rows.stream().mapToLong(row -> hash((String) row[0])).sum();
            totals.append(String.format("\"%s\": {\"count\": %d, \"sum\": \"%016x\"}, ", statement.getKey(), rows.size(), sum));
        }
        List<String> checks = new ArrayList<>();
        for (Map.Entry<String, String> rule : rules.entrySet()) {
            Object broken = Database.rows(c, rule.getValue()).get(0)[0];
            checks.add("{\"rule\": \"" + rule.getKey() + "\", \"broken\": " + broken + "}");
        }
        return "{" + totals + "\"rules\": [" + String.join(", ", checks) + "]}";
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
