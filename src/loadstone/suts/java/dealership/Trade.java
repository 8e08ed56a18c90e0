import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;

/** Transactions of dealers: purchase vehicles, manage their stock, browse the catalogue. */
final class Trade {
    private Trade() {
    }

    /** An order; `changesMind` rolls it back when all is done but the commit. An id is never used twice. */
    record Purchase(String id, long customer, List<Long> vehicles, long quantity, boolean isLarge, boolean changesMind) {
    }

    /** Returns the outcome. Small orders are taken from stock at once; lines of large ones wait for the works. */
    static String purchase(Connection c, Database.Dialect dialect, Purchase order) throws SQLException {
        long total = 0;
        for (int at = 0; at < order.vehicles().size(); at++) {
            total += order.quantity() * addLine(c, dialect, order, at + 1L, order.vehicles().get(at));
        }
        Database.change(c, "INSERT INTO orders (id, customer, size, state, line_count, total) VALUES (?, ?, ?, ?, ?, ?)",
            order.id(), order.customer(), order.isLarge() ? "large" : "regular", order.isLarge() ? "open" : "filled",
            (long) order.vehicles().size(), total);
        if (Database.change(c, "UPDATE customers SET ordered = ordered + ? WHERE id = ? AND ordered + ? <= credit",
            total, order.customer(), total) != 1) {
            c.rollback();
            return "Order refused: no credit";
        }
        if (order.changesMind()) {
            c.rollback();
            return "Order rolled back";
        }
        return "Order placed: " + total + " cents";
    }

    /** Adds a line; returns the price of a vehicle. */
    private static long addLine(Connection c, Database.Dialect dialect, Purchase order, long line, long vehicle) throws SQLException {
        List<Object[]> rows = Database.rows(c, "SELECT price FROM vehicles WHERE id = ?", vehicle);
        if (rows.isEmpty()) {
            throw new SQLException("there is no vehicle " + vehicle);
        }
        Object price = rows.get(0)[0];
        Database.change(c, "INSERT INTO order_lines (order_id, line, vehicle, quantity, price, state) VALUES (?, ?, ?, ?, ?, ?)",
            order.id(), line, vehicle, order.quantity(), price, order.isLarge() ? "waiting" : "delivered");
        if (!order.isLarge()) {
            Database.change(c, "UPDATE vehicles SET stock = stock - ? WHERE id = ?", order.quantity(), vehicle);
            receive(c, dialect, order.customer(), vehicle, order.quantity());
        }
        return (long) price;
    }

    /** Puts vehicles into a dealer's stock. */
    static void receive(Connection c, Database.Dialect dialect, Object customer, Object vehicle, Object quantity) throws SQLException {
        Database.change(c, "INSERT INTO inventory (customer, vehicle, quantity) VALUES (?, ?, ?)"
            + dialect.orAdd("inventory", "customer, vehicle", "quantity"), customer, vehicle, quantity);
    }

    /** What a dealer has, most first, and what became of it. */
    record Managed(List<Object[]> stock, Optional<String> cancelled) {
        String outcome() {
            String sold = stock.isEmpty() ? "Nothing to sell" : "Vehicle sold: " + stock.get(0)[0];
            return sold + cancelled.map(id -> "; order cancelled: " + id).orElse("");
        }
    }

    /** Shows a dealer's stock, sells a vehicle of the most frequent kind, and cancels an order that the works have not begun. */
    static Managed manage(Connection c, long customer, boolean cancels) throws SQLException {
        List<Object[]> stock = Database.rows(c, "SELECT i.vehicle, v.name, i.quantity FROM inventory i JOIN vehicles v ON v.id = i.vehicle "
            + "WHERE i.customer = ? AND i.quantity > 0 ORDER BY i.quantity DESC, i.vehicle LIMIT 10", customer);
        if (!stock.isEmpty()) {
            Database.change(c, "UPDATE inventory SET quantity = quantity - 1 WHERE customer = ? AND vehicle = ?",
                customer, stock.get(0)[0]);
        }
        return new Managed(stock, cancels ? cancel(c, customer) : Optional.empty());
    }

    private static Optional<String> cancel(Connection c, long customer) throws SQLException {
        List<Object[]> rows = Database.rows(c, "SELECT o.id, o.total FROM orders o WHERE o.customer = ? AND o.state = 'open' AND NOT EXISTS "
            + "(SELECT 1 FROM order_lines l WHERE l.order_id = o.id AND l.state <> 'waiting') ORDER BY o.id LIMIT 1", customer);
        if (rows.isEmpty()) {
            return Optional.empty();
        }
        Object id = rows.get(0)[0];
        // The works may have begun a line in the meantime.
        long lines = Database.change(c, "UPDATE order_lines SET state = 'cancelled' WHERE order_id = ? AND state = 'waiting'", id);
        if (Database.change(c, "UPDATE orders SET state = 'cancelled' WHERE id = ? AND state = 'open' AND line_count = ?", id, lines) != 1) {
            throw Database.conflict("the works have begun the order");
        }
        Database.change(c, "UPDATE customers SET ordered = ordered - ? WHERE id = ?", rows.get(0)[1], customer);
        return Optional.of((String) id);
    }

    /** Ten of the catalogue: id, name, price, stock. */
    static List<Object[]> browse(Connection c, long from) throws SQLException {
        return Database.rows(c, "SELECT id, name, price, stock FROM vehicles WHERE id >= ? ORDER BY id LIMIT 10", from);
    }
}
