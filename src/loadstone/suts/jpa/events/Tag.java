import javax.persistence.Entity;
import javax.persistence.Id;
import javax.persistence.Table;

/** Word that events are found by. */
@Entity
@Table(name = "tags")
public class Tag {
    @Id
    private long id;
    private String name;
    /** Events that have it. */
    private long uses;

    public long getId() {
        return id;
    }

    public String getName() {
        return name;
    }

    public long getUses() {
        return uses;
    }

    /** Counts one more event. */
    void count() {
        uses++;
    }
}
