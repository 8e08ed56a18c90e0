import java.io.Serializable;
import java.util.Objects;
import javax.persistence.Entity;
import javax.persistence.FetchType;
import javax.persistence.Id;
import javax.persistence.IdClass;
import javax.persistence.JoinColumn;
import javax.persistence.ManyToOne;
import javax.persistence.Table;

/** Person at an event. */
@Entity
@Table(name = "attendees")
@IdClass(Attendance.Key.class)
public class Attendance {
    @Id
    @ManyToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "event")
    private Event event;
    @Id
    @ManyToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "person")
    private Person person;
    /** 1 for one of a run, 0 for one that the database was filled with. */
    private long added;

    protected Attendance() {
    }

    Attendance(Event event, Person person) {
        this.event = event;
        this.person = person;
        added = 1;
    }

    /** Primary key. */
    public static final class Key implements Serializable {
        private static final long serialVersionUID = 1;
        public long event;
        public long person;

        public Key() {
        }

        Key(long event, long person) {
            this.event = event;
            this.person = person;
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof Key key && key.event == event && key.person == person;
        }

        @Override
        public int hashCode() {
            return Objects.hash(event, person);
        }
    }
}
