import java.util.List;
import java.util.Optional;
import org.springframework.transaction.annotation.Transactional;

/** What visitors look at. */
@Transactional(readOnly = true)
public interface Programme {
    /** Next events. */
    List<Event> listComingUp();

    long countComingUp();

    List<Tag> listMostUsedTags();

    /** Next events that a person attends. */
    List<Event> listAttended(long person);

    /** Person of a name and a password; empty for a wrong one. */
    Optional<Person> logIn(String name, String password);

    Optional<String> findName(long person);

    Optional<Tag> findTag(String name);

    /** Next events that have a tag. */
    List<Event> listTagged(Tag tag);

    /** Event with its submitter, address and tags. */
    Optional<Event> findEvent(long id);

    /** Rows of author's name, rating and text. */
    List<Object[]> listComments(long event);

    /** Names of those who attend. */
    List<String> listAttendees(long event);

    /** Person with address and friends. */
    Optional<Person> findPerson(long id);

    /** First events that a person submitted. */
    List<Event> listSubmitted(Person person);

    /** Invitations that a person has not accepted. */
    long countInvitations(Person person);
}
