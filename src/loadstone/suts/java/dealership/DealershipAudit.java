import java.sql.Connection;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Map;

/** Orders and work orders that the database holds, and whether its tables agree; the rules are the reference server's. */
final class DealershipAudit {
    private static final long PART_STOCK = 1_000;
    private static final Map<String, String> HELD = new LinkedHashMap<>();
    private static final Map<String, String> RULES = new LinkedHashMap<>();

    static {
        HELD.put("orders", "SELECT id FROM orders WHERE id NOT LIKE 'backlog-%'");
        HELD.put("work_orders", "SELECT id FROM work_orders WHERE state = 'completed'");
        String lines = "FROM order_lines l WHERE l.order_id = o.id)";
        RULES.put("an order has all its lines", "SELECT COUNT(*) FROM orders o WHERE o.line_count <> (SELECT COUNT(*) " + lines);
        RULES.put("an order's total is its lines'",
            "SELECT COUNT(*) FROM orders o WHERE o.total <> (SELECT COALESCE(SUM(l.price * l.quantity), 0) " + lines);
        RULES.put("a dealer owes what it ordered", "SELECT COUNT(*) FROM customers c WHERE c.ordered <> "
            + "(SELECT COALESCE(SUM(o.total), 0) FROM orders o WHERE o.customer = c.id AND o.state <> 'cancelled')");
        RULES.put("parts used are those of the work orders done", "SELECT COUNT(*) FROM parts p WHERE p.used <> "
            + "(SELECT COALESCE(SUM(w.quantity * a.quantity), 0) FROM assemblies a JOIN work_orders w ON w.vehicle = a.vehicle "
            + "AND w.state = 'completed' WHERE a.part = p.id)");
        RULES.put("parts in stock are those delivered less those used", "SELECT COUNT(*) FROM parts p WHERE p.stock <> "
            + PART_STOCK + " - p.used + (SELECT COALESCE(SUM(o.quantity), 0) FROM purchase_orders o WHERE o.part = p.id "
            + "AND o.state = 'delivered')");
    }

    private DealershipAudit() {
    }

    static String audit(Connection c) throws SQLException {
        return Audits.audit(c, HELD, RULES);
    }
}
