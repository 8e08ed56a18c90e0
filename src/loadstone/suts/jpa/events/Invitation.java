import java.io.Serializable;
import java.util.Objects;
import javax.persistence.Entity;
import javax.persistence.FetchType;
import javax.persistence.Id;
import javax.persistence.IdClass;
import javax.persistence.JoinColumn;
import javax.persistence.ManyToOne;
import javax.persistence.Table;

/** Invitation of a person to be another one's friend. */
@Entity
@Table(name = "invitations")
@IdClass(Invitation.Key.class)
public class Invitation {
    @Id
    @ManyToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "person")
    private Person person;
    @Id
    @ManyToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "invited")
    private Person invited;
    /** 1 for one that was accepted. */
    private long accepted;

    /** Primary key. */
    public static final class Key implements Serializable {
        private static final long serialVersionUID = 1;
        public long person;
        public long invited;

        @Override
        public boolean equals(Object other) {
            return other instanceof Key key && key.person == person && key.invited == invited;
        }

        @Override
        public int hashCode() {
            return Objects.hash(person, invited);
        }
    }
}
