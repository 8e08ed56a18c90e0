import java.io.Serializable;
import java.util.Objects;
import javax.persistence.Entity;
import javax.persistence.FetchType;
import javax.persistence.Id;
import javax.persistence.IdClass;
import javax.persistence.JoinColumn;
import javax.persistence.ManyToOne;
import javax.persistence.Table;

/** Comment on an event. */
@Entity
@Table(name = "comments")
@IdClass(Comment.Key.class)
public class Comment {
    @Id
    @ManyToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "event")
    private Event event;
    /** Number among those of the event. */
    @Id
    private long place;
    @ManyToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "person")
    private Person person;
    private long rating;
    private String words;

    /** Primary key. */
    public static final class Key implements Serializable {
        private static final long serialVersionUID = 1;
        public long event;
        public long place;

        @Override
        public boolean equals(Object other) {
            return other instanceof Key key && key.event == event && key.place == place;
        }

        @Override
        public int hashCode() {
            return Objects.hash(event, place);
        }
    }
}
