import javax.persistence.Entity;
import javax.persistence.FetchType;
import javax.persistence.Id;
import javax.persistence.JoinColumn;
import javax.persistence.ManyToOne;
import javax.persistence.Table;

/** Book of the catalogue. */
@Entity
@Table(name = "items")
public class Item {
    @Id
    private long id;
    private String title;
    @ManyToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "author")
    private Author author;
    private String subject;
    private long published;
    /** In cents. */
    private long price;
    /** First of the books that are promoted beside this one. */
    private long related;

    public long getId() {
        return id;
    }

    public String getTitle() {
        return title;
    }

    public Author getAuthor() {
        return author;
    }

    public String getSubject() {
        return subject;
    }

    public long getPrice() {
        return price;
    }

    void setPrice(long cents) {
        price = cents;
    }

    void setRelated(long item) {
        related = item;
    }
}
