import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;

/** What visitors look at; the statements are those of the reference server. */
final class Look {
    private static final int LISTED = 10;
    private static final int CLOUD = 50;
    private static final int REMINDED = 3;

    private Look() {
    }

    static List<Object[]> comingUp(Connection c) throws SQLException {
        return Database.rows(c, "SELECT id, title, held FROM events WHERE held >= ? ORDER BY held, id LIMIT " + LISTED, Additions.NOW);
    }

    static long countComingUp(Connection c) throws SQLException {
        return (Long) Database.rows(c, "SELECT COUNT(*) FROM events WHERE held >= ?", Additions.NOW).get(0)[0];
    }

    static List<Object[]> cloud(Connection c) throws SQLException {
        return Database.rows(c, "SELECT name, uses FROM tags ORDER BY uses DESC, id LIMIT " + CLOUD);
    }

    static List<Object[]> own(Connection c, long person) throws SQLException {
        return Database.rows(c, "SELECT e.id, e.title, e.held FROM attendees a JOIN events e ON e.id = a.event "
            + "WHERE a.person = ? AND e.held >= ? ORDER BY e.held, e.id LIMIT " + REMINDED, person, Additions.NOW);
    }

    static Optional<Long> logIn(Connection c, String name, String password) throws SQLException {
        return first(Database.rows(c, "SELECT id FROM people WHERE name = ? AND password = ?", name, password))
            .map(row -> (Long) row[0]);
    }

    static Optional<String> name(Connection c, long person) throws SQLException {
        return first(Database.rows(c, "SELECT name FROM people WHERE id = ?", person)).map(row -> (String) row[0]);
    }

    /** Number and uses of a tag. */
    static Optional<Object[]> tag(Connection c, String name) throws SQLException {
        return first(Database.rows(c, "SELECT id, uses FROM tags WHERE name = ?", name));
    }

    static List<Object[]> tagged(Connection c, long tag) throws SQLException {
        return Database.rows(c, "SELECT e.id, e.title, e.held FROM event_tags t JOIN events e ON e.id = t.event "
            + "WHERE t.tag = ? AND e.held >= ? ORDER BY e.held, e.id LIMIT " + LISTED, tag, Additions.NOW);
    }

    static Optional<Object[]> event(Connection c, long id) throws SQLException {
        return first(Database.rows(c, "SELECT e.title, e.summary, e.description, e.phone, e.held, p.id, p.name, a.street, a.city, "
            + "a.zip, a.country FROM events e JOIN people p ON p.id = e.submitter JOIN addresses a ON a.id = e.address "
            + "WHERE e.id = ?", id));
    }

    static List<Object[]> tags(Connection c, long event) throws SQLException {
        return Database.rows(c, "SELECT t.name FROM event_tags x JOIN tags t ON t.id = x.tag WHERE x.event = ? ORDER BY t.id", event);
    }

    static List<Object[]> comments(Connection c, long event) throws SQLException {
        return Database.rows(c, "SELECT p.name, c.rating, c.words FROM comments c JOIN people p ON p.id = c.person "
            + "WHERE c.event = ? ORDER BY c.place", event);
    }

    static List<Object[]> attendees(Connection c, long event) throws SQLException {
        return Database.rows(c, "SELECT p.name FROM attendees a JOIN people p ON p.id = a.person WHERE a.event = ? ORDER BY p.id", event);
    }

    static Optional<Object[]> person(Connection c, long id) throws SQLException {
        return first(Database.rows(c, "SELECT p.name, p.email, p.phone, p.summary, a.street, a.city, a.zip, a.country "
            + "FROM people p JOIN addresses a ON a.id = p.address WHERE p.id = ?", id));
    }

    static List<Object[]> friends(Connection c, long person) throws SQLException {
        return Database.rows(c, "SELECT p.id, p.name FROM friends f JOIN people p ON p.id = f.friend WHERE f.person = ? ORDER BY p.id", person);
    }

    static List<Object[]> submitted(Connection c, long person) throws SQLException {
        return Database.rows(c, "SELECT id, title FROM events WHERE submitter = ? ORDER BY held, id LIMIT " + LISTED, person);
    }

    static long waiting(Connection c, long person) throws SQLException {
        return (Long) Database.rows(c, "SELECT COUNT(*) FROM invitations WHERE invited = ? AND accepted = 0", person).get(0)[0];
    }

    private static Optional<Object[]> first(List<Object[]> rows) {
        return rows.stream().findFirst();
    }
}
