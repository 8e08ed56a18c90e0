import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/** The works: they build vehicles from parts by work orders, and order parts that run short. */
final class Works {
    private static final long REORDER_BELOW = 400;
    private static final long REORDER_QUANTITY = 1_000;

    private Works() {
    }

    /** Parts ordered of a supplier. */
    record PartsOrder(String id, long supplier, long part, long quantity) {
    }

    /** A completed work order; its origin is the line of a large order, or empty. */
    record Built(long vehicle, long quantity, String origin, List<PartsOrder> orders) {
        String outcome() {
            return quantity + " of " + vehicle + ", " + (origin.isEmpty() ? "planned" : "for " + origin);
        }
    }

    static Built planned(Database database, String id, long vehicle, long quantity) throws SQLException {
        return build(database, id, vehicle, quantity, "");
    }

    /** Builds the oldest waiting line of a large order; as planned when none waits. */
    static Built large(Database database, String id, long vehicle, long quantity) throws SQLException {
        List<Object[]> lines = database.write(Works::begin);
        if (lines.isEmpty()) {
            return planned(database, id, vehicle, quantity);
        }
        Object[] line = lines.get(0);
        return build(database, id, (long) line[2], (long) line[3], line[0] + "/" + line[1]);
    }

    /** Marks the oldest waiting line; returns order, line, vehicle and quantity, or no row. */
    private static List<Object[]> begin(Connection c) throws SQLException {
        List<Object[]> lines = Database.rows(c, "SELECT order_id, line, vehicle, quantity FROM order_lines WHERE state = 'waiting' "
            + "ORDER BY order_id, line LIMIT 1");
        if (!lines.isEmpty() && Database.change(c, "UPDATE order_lines SET state = 'building' WHERE order_id = ? AND line = ? "
            + "AND state = 'waiting'", lines.get(0)[0], lines.get(0)[1]) != 1) {
            throw Database.conflict("another production line took it");
        }
        return lines;
    }

    private static Built build(Database database, String id, long vehicle, long quantity, String origin) throws SQLException {
        database.write(c -> Database.change(c, "INSERT INTO work_orders (id, vehicle, quantity, origin, state) "
            + "VALUES (?, ?, ?, ?, 'scheduled')", id, vehicle, quantity, origin));
        return database.write(c -> complete(c, database.dialect, id, vehicle, quantity, origin));
    }

    /** Takes the parts, builds, and hands over: to the stock, or to the dealer of the order. */
    private static Built complete(Connection c, Database.Dialect dialect, String id, long vehicle, long quantity, String origin)
        throws SQLException {
        List<PartsOrder> orders = new ArrayList<>();
        for (Object[] part : Database.rows(c, "SELECT part, quantity FROM assemblies WHERE vehicle = ? ORDER BY part", vehicle)) {
            takePart(c, id, (long) part[0], (long) part[1] * quantity, orders);
        }
        Database.change(c, "UPDATE vehicles SET stock = stock + ? WHERE id = ?", quantity, vehicle);
        if (!origin.isEmpty()) {
            handOver(c, dialect, origin, vehicle, quantity);
        }
        if (Database.change(c, "UPDATE work_orders SET state = 'completed' WHERE id = ? AND state = 'scheduled'", id) != 1) {
            throw new SQLException("no work order " + id + " is scheduled");
        }
        return new Built(vehicle, quantity, origin, orders);
    }

    /** Takes a part; adds an order where it runs short and none is on its way. */
    private static void takePart(Connection c, String id, long part, long quantity, List<PartsOrder> orders) throws SQLException {
        Database.change(c, "UPDATE parts SET stock = stock - ?, used = used + ? WHERE id = ?", quantity, quantity, part);
        if (Database.change(c, "UPDATE parts SET coming = coming + ? WHERE id = ? AND stock + coming < ?",
            REORDER_QUANTITY, part, REORDER_BELOW) != 1) {
            return;
        }
        long supplier = (long) Database.rows(c, "SELECT supplier FROM parts WHERE id = ?", part).get(0)[0];
        PartsOrder order = new PartsOrder(id + "-" + part, supplier, part, REORDER_QUANTITY);
        Database.change(c, "INSERT INTO purchase_orders (id, supplier, part, quantity, state) VALUES (?, ?, ?, ?, 'sent')",
            order.id(), supplier, part, order.quantity());
        orders.add(order);
    }

    private static void handOver(Connection c, Database.Dialect dialect, String origin, long vehicle, long quantity) throws SQLException {
        int at = origin.lastIndexOf('/');
        String order = origin.substring(0, at);
        long line = Long.parseLong(origin.substring(at + 1));
        Database.change(c, "UPDATE vehicles SET stock = stock - ? WHERE id = ?", quantity, vehicle);
        Database.change(c, "UPDATE order_lines SET state = 'delivered' WHERE order_id = ? AND line = ?", order, line);
        Database.change(c, "UPDATE orders SET state = 'filled' WHERE id = ? AND NOT EXISTS "
            + "(SELECT 1 FROM order_lines l WHERE l.order_id = orders.id AND l.state <> 'delivered')", order);
        Object customer = Database.rows(c, "SELECT customer FROM orders WHERE id = ?", order).get(0)[0];
        Trade.receive(c, dialect, customer, vehicle, quantity);
    }

    /** Takes in a delivery; a second one of the same order changes nothing. */
    static boolean deliver(Connection c, String order) throws SQLException {
        if (Database.change(c, "UPDATE purchase_orders SET state = 'delivered' WHERE id = ? AND state = 'sent'", order) != 1) {
            return false;
        }
        Object[] row = Database.rows(c, "SELECT part, quantity FROM purchase_orders WHERE id = ?", order).get(0);
        Database.change(c, "UPDATE parts SET stock = stock + ?, coming = coming - ? WHERE id = ?", row[1], row[1], row[0]);
        return true;
    }
}
