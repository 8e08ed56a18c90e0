import java.util.List;
import java.util.Map;
import org.springframework.transaction.annotation.Transactional;

/** What visitors add. */
@Transactional
public interface Contributions {
    /** Adds a person to those who attend an event. Returns whether there is such an event. */
    boolean attend(long event, long person);

    void addPerson(Person person);

    /** Adds an event with those of the named tags that exist. */
    void addEvent(long id, Map<String, String> form, long submitter, Address address, List<String> tags);

    /** State of all additions as JSON. */
    String audit();
}
