import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.persistence.CascadeType;
import javax.persistence.Entity;
import javax.persistence.FetchType;
import javax.persistence.Id;
import javax.persistence.JoinColumn;
import javax.persistence.JoinTable;
import javax.persistence.ManyToMany;
import javax.persistence.ManyToOne;
import javax.persistence.OneToOne;
import javax.persistence.OrderBy;
import javax.persistence.Table;

/** Event that people attend. */
@Entity
@Table(name = "events")
public class Event {
    @Id
    private long id;
    private String title;
    private String summary;
    private String description;
    private String phone;
    @ManyToOne(fetch = FetchType.LAZY)
    @JoinColumn(name = "submitter")
    private Person submitter;
    /** In minutes. */
    private long held;
    private long created;
    @OneToOne(fetch = FetchType.LAZY, cascade = CascadeType.PERSIST)
    @JoinColumn(name = "address")
    private Address address;
    @ManyToMany
    @JoinTable(name = "event_tags", joinColumns = @JoinColumn(name = "event"), inverseJoinColumns = @JoinColumn(name = "tag"))
    @OrderBy("id")
    private List<Tag> tags = new ArrayList<>();

    protected Event() {
    }

    /** Takes texts by the names of a form's fields. */
    Event(long id, Map<String, String> form, Person submitter, Address address) {
        this.id = id;
        title = form.getOrDefault("title", "");
        summary = form.getOrDefault("summary", "");
        description = form.getOrDefault("description", "");
        phone = form.getOrDefault("phone", "");
        this.submitter = submitter;
        held = Additions.chooseDate(id);
        created = Additions.NOW;
        this.address = address;
    }

    void add(Tag tag) {
        tag.count();
        tags.add(tag);
    }

    public long getId() {
        return id;
    }

    public String getTitle() {
        return title;
    }

    public String getSummary() {
        return summary;
    }

    public String getDescription() {
        return description;
    }

    public String getPhone() {
        return phone;
    }

    public Person getSubmitter() {
        return submitter;
    }

    public long getHeld() {
        return held;
    }

    public Address getAddress() {
        return address;
    }

    public List<Tag> getTags() {
        return tags;
    }
}
