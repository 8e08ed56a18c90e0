import java.util.List;
import java.util.Optional;
import javax.persistence.EntityManager;
import javax.persistence.PersistenceContext;
import javax.persistence.TypedQuery;

/** The programme by queries of JPA. */
public class JpaProgramme implements Programme {
    private static final int LISTED = 10;
    private static final int CLOUD = 50;
    private static final int REMINDED = 3;

    @PersistenceContext
    private EntityManager entities;

    @Override
    public List<Event> listComingUp() {
        return entities
            .createQuery("SELECT e FROM Event e WHERE e.held >= :now ORDER BY e.held, e.id", Event.class)
            .setParameter("now", Additions.NOW)
            .setMaxResults(LISTED)
            .getResultList();
    }

    @Override
    public long countComingUp() {
        return entities
            .createQuery("SELECT COUNT(e) FROM Event e WHERE e.held >= :now", Long.class)
            .setParameter("now", Additions.NOW)
            .getSingleResult();
    }

    @Override
    public List<Tag> listMostUsedTags() {
        return entities.createQuery("SELECT t FROM Tag t ORDER BY t.uses DESC, t.id", Tag.class).setMaxResults(CLOUD).getResultList();
    }

    @Override
    public List<Event> listAttended(long person) {
        String query = "SELECT e FROM Attendance a JOIN a.event e WHERE a.person.id = :person AND e.held >= :now ORDER BY e.held, e.id";
        return entities
            .createQuery(query, Event.class)
            .setParameter("person", person)
            .setParameter("now", Additions.NOW)
            .setMaxResults(REMINDED)
            .getResultList();
    }

    @Override
    public Optional<Person> logIn(String name, String password) {
        return findFirst(entities
            .createQuery("SELECT p FROM Person p WHERE p.name = :name AND p.password = :password", Person.class)
            .setParameter("name", name)
            .setParameter("password", password));
    }

    @Override
    public Optional<String> findName(long person) {
        return Optional.ofNullable(entities.find(Person.class, person)).map(Person::getName);
    }

    @Override
    public Optional<Tag> findTag(String name) {
        return findFirst(entities.createQuery("SELECT t FROM Tag t WHERE t.name = :name", Tag.class).setParameter("name", name));
    }

    @Override
    public List<Event> listTagged(Tag tag) {
        return entities
            .createQuery("SELECT e FROM Event e JOIN e.tags t WHERE t = :tag AND e.held >= :now ORDER BY e.held, e.id", Event.class)
            .setParameter("tag", tag)
            .setParameter("now", Additions.NOW)
            .setMaxResults(LISTED)
            .getResultList();
    }

    @Override
    public Optional<Event> findEvent(long id) {
        Optional<Event> event = findFirst(entities
            .createQuery("SELECT e FROM Event e JOIN FETCH e.submitter JOIN FETCH e.address WHERE e.id = :id", Event.class)
            .setParameter("id", id));
        event.ifPresent(found -> found.getTags().size());
        return event;
    }

    @Override
    public List<Object[]> listComments(long event) {
        String query = "SELECT p.name, c.rating, c.words FROM Comment c JOIN c.person p WHERE c.event.id = :event ORDER BY c.place";
        return entities.createQuery(query, Object[].class).setParameter("event", event).getResultList();
    }

    @Override
    public List<String> listAttendees(long event) {
        String query = "SELECT p.name FROM Attendance a JOIN a.person p WHERE a.event.id = :event ORDER BY p.id";
        return entities.createQuery(query, String.class).setParameter("event", event).getResultList();
    }

    @Override
    public Optional<Person> findPerson(long id) {
        Optional<Person> person = findFirst(entities
            .createQuery("SELECT p FROM Person p JOIN FETCH p.address WHERE p.id = :id", Person.class)
            .setParameter("id", id));
        person.ifPresent(found -> found.getFriends().size());
        return person;
    }

    @Override
    public List<Event> listSubmitted(Person person) {
        return entities
            .createQuery("SELECT e FROM Event e WHERE e.submitter = :person ORDER BY e.held, e.id", Event.class)
            .setParameter("person", person)
            .setMaxResults(LISTED)
            .getResultList();
    }

    @Override
    public long countInvitations(Person person) {
        return entities
            .createQuery("SELECT COUNT(i) FROM Invitation i WHERE i.invited = :person AND i.accepted = 0", Long.class)
            .setParameter("person", person)
            .getSingleResult();
    }

    private static <T> Optional<T> findFirst(TypedQuery<T> query) {
        return query.getResultList().stream().findFirst();
    }
}
