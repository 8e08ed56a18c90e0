import javax.persistence.Entity;
import javax.persistence.Id;
import javax.persistence.Table;

/** Writer of books. */
@Entity
@Table(name = "authors")
public class Author {
    @Id
    private long id;
    private String name;

    public String getName() {
        return name;
    }
}
