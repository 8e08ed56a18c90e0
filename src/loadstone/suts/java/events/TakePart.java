import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;

/** What visitors add: that they come, themselves, events; the statements are those of the reference server. */
final class TakePart {
    private static final int MOST_TAGS = 20;

    private TakePart() {
    }

    /** Street, city, state, zip, country; and where that is, in millionths of a degree. */
    record Address(List<String> texts, long[] place) {
    }

    /** Whether there is such an event. */
    static boolean attend(Connection c, Database.Dialect dialect, long event, long person) throws SQLException {
        if (Database.rows(c, "SELECT id FROM events WHERE id = ?", event).isEmpty()) {
            return false;
        }
        Database.change(c, "INSERT INTO attendees (event, person, added) VALUES (?, ?, 1)"
            + dialect.orUpdate("event, person", "person"), event, person);
        return true;
    }

    /** Texts: name, password, e-mail, phone, summary. */
    static void addPerson(Connection c, long id, List<String> texts, Address address) throws SQLException {
        addAddress(c, id, address);
        insert(c, "people (id, name, password, email, phone, summary, address)", id, texts, new long[] {id});
    }

    /** Texts: title, summary, description, phone. Numbers: who submits it, when it is held, when it was created. */
    static void addEvent(Connection c, long id, List<String> texts, long[] numbers, List<String> tags, Address address)
            throws SQLException {
        addAddress(c, id, address);
        long[] last = {numbers[0], numbers[1], numbers[2], id};
        insert(c, "events (id, title, summary, description, phone, submitter, held, created, address)", id, texts, last);
        for (Long tag : known(c, tags)) {
            Database.change(c, "INSERT INTO event_tags (event, tag) VALUES (?, ?)", id, tag);
            Database.change(c, "UPDATE tags SET uses = uses + 1 WHERE id = ?", tag);
        }
    }

    /** Ids of tags in their order, in which all who add take them: two never wait for each other. */
    private static TreeSet<Long> known(Connection c, List<String> names) throws SQLException {
        TreeSet<Long> ids = new TreeSet<>();
        for (String name : names.subList(0, Math.min(MOST_TAGS, names.size()))) {
            for (Object[] row : Database.rows(c, "SELECT id FROM tags WHERE name = ?", name)) {
                ids.add((Long) row[0]);
            }
        }
        return ids;
    }

    private static void addAddress(Connection c, long id, Address address) throws SQLException {
        insert(c, "addresses (id, street, city, state, zip, country, latitude, longitude)", id, address.texts, address.place);
    }

    private static void insert(Connection c, String into, long id, List<String> texts, long[] numbers) throws SQLException {
        List<Object> values = new ArrayList<>();
        values.add(id);
        values.addAll(texts);
        for (long number : numbers) {
            values.add(number);
        }
        String places = "?" + ", ?".repeat(values.size() - 1);
        Database.change(c, "INSERT INTO " + into + " VALUES (" + places + ")", values.toArray());
    }
}
