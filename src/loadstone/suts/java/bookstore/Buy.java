import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

/** What visitors change: carts, customers, orders, items; the statements are those of the reference server. */
final class Buy {
    private static final long MOST_COPIES = 10;
    private static final int MOST_LINES = 100;
    private static final long RESTOCK_BELOW = 10;
    private static final long RESTOCK = 21;
    private static final String PASSWORD = "books";

    private Buy() {
    }

    /** Who buys what is in a cart, and where to. */
    record Quote(long customer, String address, List<Object[]> lines) {
    }

    static List<Object[]> add(Connection c, Database.Dialect dialect, String cart, long item, long quantity) throws SQLException {
        Database.change(c, "INSERT INTO carts (id, customer) VALUES (?, 0)" + dialect.orUpdate("id", "id"), cart);
        if (lines(c, cart).size() < MOST_LINES) {
            long copies = Math.max(1, Math.min(MOST_COPIES, quantity));
            Database.change(c, "INSERT INTO cart_lines (cart, item, quantity) VALUES (?, ?, ?)"
                + dialect.orUpdate("cart, item", "quantity"), cart, item, copies);
        }
        return lines(c, cart);
    }

    /** In the order of their items, in which all who buy take them from the shelves: two never wait for each other. */
    private static List<Object[]> lines(Connection c, String cart) throws SQLException {
        return Database.rows(c, "SELECT l.item, i.title, l.quantity, i.price FROM cart_lines l JOIN items i ON i.id = l.item "
            + "WHERE l.cart = ? ORDER BY l.item", cart);
    }

    static Optional<Long> known(Connection c, String name, String password) throws SQLException {
        String sql = "SELECT id FROM customers WHERE name = ? AND password = ?";
        return Browse.first(Database.rows(c, sql, name, password)).map(row -> (Long) row[0]);
    }

    static Optional<Long> enrol(Connection c, long id, String name) throws SQLException {
        Database.change(c, "INSERT INTO customers (id, name, password) VALUES (?, ?, ?)", id, name, PASSWORD);
        Database.change(c, "INSERT INTO addresses (customer, street, city, zip) VALUES (?, '1 New Street', 'Marsh', '00001')", id);
        Database.change(c, "INSERT INTO accounts (customer, discount, spent) VALUES (?, 0, 0)", id);
        return Optional.of(id);
    }

    static Optional<Quote> quote(Connection c, String cart, Optional<Long> customer) throws SQLException {
        if (customer.isEmpty()) {
            return Optional.empty();
        }
        Database.change(c, "UPDATE carts SET customer = ? WHERE id = ?", customer.get(), cart);
        String sql = "SELECT street, city, zip FROM addresses WHERE customer = ?";
        Object[] address = Browse.first(Database.rows(c, sql, customer.get())).orElse(new Object[0]);
        String to = Arrays.stream(address).map(String::valueOf).collect(Collectors.joining(", "));
        return Optional.of(new Quote(customer.get(), to, lines(c, cart)));
    }

    /** The total of the order that was placed; none where nothing was in the cart, or nobody had said who buys. */
    static Optional<Long> buy(Connection c, String cart, String order, long placed) throws SQLException {
        String sql = "SELECT customer FROM carts WHERE id = ?";
        long customer = Browse.first(Database.rows(c, sql, cart)).map(row -> (Long) row[0]).orElse(0L);
        List<Object[]> bought = lines(c, cart);
        if (customer == 0 || bought.isEmpty()) {
            return Optional.empty();
        }
        long total = bought.stream().mapToLong(row -> (long) row[2] * (long) row[3]).sum();
        Database.change(c, "INSERT INTO orders (id, customer, placed, line_count, total, is_new) VALUES (?, ?, ?, ?, ?, 1)",
            order, customer, placed, (long) bought.size(), total);
        for (int at = 0; at < bought.size(); at++) {
            addLine(c, order, at + 1L, bought.get(at), placed);
        }
        Database.change(c, "INSERT INTO payments (order_id, card, amount) VALUES (?, '4000', ?)", order, total);
        Database.change(c, "UPDATE accounts SET spent = spent + ? WHERE customer = ?", total, customer);
        Database.change(c, "DELETE FROM cart_lines WHERE cart = ?", cart);
        return Optional.of(total);
    }

    private static void addLine(Connection c, String order, long number, Object[] row, long placed) throws SQLException {
        Object item = row[0];
        Object quantity = row[2];
        Database.change(c, "INSERT INTO order_lines (order_id, line, item, quantity, price, placed) VALUES (?, ?, ?, ?, ?, ?)",
            order, number, item, quantity, row[3], placed);
        Database.change(c, "UPDATE stock SET quantity = quantity - ?, sold = sold + ? WHERE item = ?", quantity, quantity, item);
        Database.change(c, "UPDATE stock SET quantity = quantity + ?, restocked = restocked + ? WHERE item = ? AND quantity < ?",
            RESTOCK, RESTOCK, item, RESTOCK_BELOW);
    }

    /** Whether there is such an item. */
    static boolean change(Connection c, long item, long price, Long related) throws SQLException {
        if (related == null) {
            return Database.change(c, "UPDATE items SET price = ? WHERE id = ?", price, item) == 1;
        }
        return Database.change(c, "UPDATE items SET price = ?, related = ? WHERE id = ?", price, related, item) == 1;
    }
}
