import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import javax.persistence.EntityManager;
import javax.persistence.LockModeType;
import javax.persistence.PersistenceContext;
import javax.persistence.PersistenceException;

/** Contributions by entities of JPA. Transactions lock tags in their order, so none waits for another in a circle. */
public class JpaContributions implements Contributions {
    private static final int MOST_TAGS = 20;

    @PersistenceContext
    private EntityManager entities;

    @Override
    public boolean attend(long id, long person) {
        Event event = entities.find(Event.class, id);
        if (event != null && entities.find(Attendance.class, new Attendance.Key(id, person)) == null) {
            entities.persist(new Attendance(event, entities.getReference(Person.class, person)));
        }
        return event != null;
    }

    @Override
    public void addPerson(Person person) {
        entities.persist(person);
    }

    @Override
    public void addEvent(long id, Map<String, String> form, long submitter, Address address, List<String> tags) {
        Event event = new Event(id, form, entities.getReference(Person.class, submitter), address);
        entities
            .createQuery("SELECT t FROM Tag t WHERE t.name IN :names ORDER BY t.id", Tag.class)
            .setParameter("names", tags.subList(0, Math.min(MOST_TAGS, tags.size())))
            .setLockMode(LockModeType.PESSIMISTIC_WRITE)
            .getResultList()
            .forEach(event::add);
        entities.persist(event);
    }

    @Override
    public String audit() {
        try {
            return EventsAudit.audit(entities.unwrap(Connection.class));
        } catch (SQLException error) {
            throw new PersistenceException(error);
        }
    }
}
