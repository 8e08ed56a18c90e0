import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** What visitors look at; the statements are those of the reference server. */
final class Browse {
    static final Set<String> SUBJECTS = Set.of(
        "arts", "biography", "business", "children", "computers", "cooking", "crime", "drama", "gardens", "health",
        "history", "home", "humor", "law", "letters", "music", "nature", "parenting", "poetry", "religion", "romance",
        "science", "sports", "travel");
    /** How items are looked for: the condition, and what the words become. */
    static final Map<String, String[]> WAYS = Map.of(
        "author", new String[] {"a.name LIKE ?", "%s%%"},
        "title", new String[] {"i.title LIKE ?", "%%%s%%"},
        "subject", new String[] {"i.subject = ?", "%s"});
    private static final int LISTED = 50;
    /** Orders that best sellers are reckoned from. */
    private static final int RECENT = 3_333;
    private static final int RELATED = 5;

    private Browse() {
    }

    static Optional<String> customer(Connection c, long id) throws SQLException {
        return first(Database.rows(c, "SELECT name FROM customers WHERE id = ?", id)).map(row -> (String) row[0]);
    }

    static List<Object[]> promoted(Connection c, long item) throws SQLException {
        return Database.rows(c, "SELECT p.id, p.title, p.price FROM items i JOIN items p ON p.id >= i.related WHERE i.id = ? "
            + "ORDER BY p.id LIMIT 5", item);
    }

    static List<Object[]> newest(Connection c, String subject) throws SQLException {
        return Database.rows(c, "SELECT i.id, i.title, a.name FROM items i JOIN authors a ON a.id = i.author "
            + "WHERE i.subject = ? ORDER BY i.published DESC, i.title LIMIT " + LISTED, subject);
    }

    static List<Object[]> bestSellers(Connection c, String subject) throws SQLException {
        String last = "SELECT placed FROM orders ORDER BY placed DESC LIMIT 1 OFFSET " + (RECENT - 1);
        long since = first(Database.rows(c, last)).map(row -> (Long) row[0]).orElse(0L);
        return Database.rows(c, "SELECT i.id, i.title, a.name, SUM(l.quantity) FROM order_lines l JOIN items i ON i.id = l.item "
            + "JOIN authors a ON a.id = i.author WHERE l.placed >= ? AND i.subject = ? GROUP BY i.id, i.title, a.name "
            + "ORDER BY 4 DESC, i.id LIMIT " + LISTED, since, subject);
    }

    static Optional<Object[]> item(Connection c, long id) throws SQLException {
        return first(Database.rows(c, "SELECT i.title, a.name, i.subject, i.price, s.quantity FROM items i "
            + "JOIN authors a ON a.id = i.author JOIN stock s ON s.item = i.id WHERE i.id = ?", id));
    }

    static List<Object[]> search(Connection c, String by, String words) throws SQLException {
        String[] way = WAYS.get(by);
        return Database.rows(c, "SELECT i.id, i.title, a.name FROM items i JOIN authors a ON a.id = i.author WHERE " + way[0]
            + " ORDER BY i.title LIMIT " + LISTED, String.format(way[1], words));
    }

    /** Number and total of a customer's last order, whose password must be right. */
    static Optional<Object[]> lastOrder(Connection c, String name, String password) throws SQLException {
        return first(Database.rows(c, "SELECT o.id, o.total FROM customers c JOIN orders o ON o.customer = c.id "
            + "WHERE c.name = ? AND c.password = ? ORDER BY o.placed DESC LIMIT 1", name, password));
    }

    static List<Object[]> lines(Connection c, String order) throws SQLException {
        return Database.rows(c, "SELECT i.title, l.quantity, l.price FROM order_lines l JOIN items i ON i.id = l.item "
            + "WHERE l.order_id = ? ORDER BY l.line", order);
    }

    static List<Object[]> boughtTogether(Connection c, long item) throws SQLException {
        return Database.rows(c, "SELECT o.item, SUM(o.quantity) FROM order_lines l JOIN orders h ON h.id = l.order_id "
            + "JOIN orders t ON t.customer = h.customer JOIN order_lines o ON o.order_id = t.id "
            + "WHERE l.item = ? AND o.item <> ? GROUP BY o.item ORDER BY 2 DESC, o.item LIMIT " + RELATED, item, item);
    }

    static Optional<Object[]> first(List<Object[]> rows) {
        return rows.stream().findFirst();
    }
}
