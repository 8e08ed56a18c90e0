import java.sql.Connection;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Map;

/** Which orders there are, and whether orders, payments, accounts and shelves agree; the rules are the reference server's. */
final class Audit {
    private static final long STOCK = 100;
    private static final Map<String, String> RULES = new LinkedHashMap<>();

    static {
        String lines = "FROM order_lines l WHERE l.order_id = o.id)";
        RULES.put("an order has all its lines", "SELECT COUNT(*) FROM orders o WHERE o.line_count <> (SELECT COUNT(*) " + lines);
        RULES.put("an order's total is its lines'",
            "SELECT COUNT(*) FROM orders o WHERE o.total <> (SELECT COALESCE(SUM(l.price * l.quantity), 0) " + lines);
        RULES.put("an order is paid for", "SELECT COUNT(*) FROM orders o LEFT JOIN payments p ON p.order_id = o.id "
            + "WHERE p.amount IS NULL OR p.amount <> o.total");
        RULES.put("a customer spent what new orders cost", "SELECT COUNT(*) FROM accounts a WHERE a.spent <> "
            + "(SELECT COALESCE(SUM(o.total), 0) FROM orders o WHERE o.customer = a.customer AND o.is_new = 1)");
        RULES.put("what was sold of an item is what was ordered", "SELECT COUNT(*) FROM stock s WHERE s.sold <> "
            + "(SELECT COALESCE(SUM(l.quantity), 0) FROM order_lines l WHERE l.item = s.item)");
        RULES.put("what is on the shelves is what came less what was sold",
            "SELECT COUNT(*) FROM stock WHERE quantity <> " + STOCK + " + restocked - sold");
    }

    private Audit() {
    }

    static String audit(Connection c) throws SQLException {
        return Audits.audit(c, Map.of("orders", "SELECT id FROM orders WHERE is_new = 1"), RULES);
    }
}
