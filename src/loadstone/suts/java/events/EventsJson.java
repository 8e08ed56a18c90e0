import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.tomcat.util.json.JSONFilter;

/** What an event's page asks for in JSON. */
final class EventsJson {
    private EventsJson() {
    }

    /** Rows: name of the author, rating, text. */
    static String comments(long event, List<Object[]> rows) {
        List<String> told = new ArrayList<>();
        for (Object[] row : rows) {
            told.add("{\"by\":" + quote(row[0]) + ",\"rating\":" + row[1] + ",\"words\":" + quote(row[2]) + "}");
        }
        return "{\"event\":" + event + ",\"comments\":[" + String.join(",", told) + "]}";
    }

    /** Names of those who attend, and that of the visitor who just said so. */
    static String attendees(long event, List<String> names, Optional<String> visitor) {
        String you = visitor.map(name -> ",\"you\":" + quote(name)).orElse("");
        String quoted = names.stream().map(EventsJson::quote).collect(Collectors.joining(","));
        return "{\"event\":" + event + you + ",\"attendees\":[" + quoted + "]}";
    }

    private static String quote(Object text) {
        return '"' + JSONFilter.escape(String.valueOf(text)) + '"';
    }
}
