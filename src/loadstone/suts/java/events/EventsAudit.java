import java.sql.Connection;
import java.sql.SQLException;
import java.util.LinkedHashMap;
import java.util.Map;

/** What was added, and whether people, events and tags agree; the rules are the reference server's. */
final class EventsAudit {
    private static final Map<String, String> RULES = new LinkedHashMap<>();

    static {
        RULES.put("a tag is used as often as events have it",
            "SELECT COUNT(*) FROM tags t WHERE t.uses <> (SELECT COUNT(*) FROM event_tags x WHERE x.tag = t.id)");
        RULES.put("an event has somebody who submitted it",
            "SELECT COUNT(*) FROM events e LEFT JOIN people p ON p.id = e.submitter WHERE p.id IS NULL");
        RULES.put("an event has its place",
            "SELECT COUNT(*) FROM events e LEFT JOIN addresses a ON a.id = e.address WHERE a.id IS NULL");
        RULES.put("the person and the event of an attendance exist",
            "SELECT COUNT(*) FROM attendees x LEFT JOIN people p ON p.id = x.person LEFT JOIN events e ON e.id = x.event "
                + "WHERE p.id IS NULL OR e.id IS NULL");
    }

    private EventsAudit() {
    }

    static String audit(Connection c) throws SQLException {
        String first = String.valueOf(Additions.FIRST_ID);
        String added = "SELECT name FROM people WHERE id >= " + first + " UNION ALL SELECT title FROM events WHERE id >= " + first;
        return Audits.audit(c, Map.of("additions", added), RULES);
    }
}
