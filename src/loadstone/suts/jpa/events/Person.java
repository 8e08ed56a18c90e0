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
import javax.persistence.OneToOne;
import javax.persistence.OrderBy;
import javax.persistence.Table;

/** Person who is registered. */
@Entity
@Table(name = "people")
public class Person {
    @Id
    private long id;
    private String name;
    private String password;
    private String email;
    private String phone;
    private String summary;
    @OneToOne(fetch = FetchType.LAZY, cascade = CascadeType.PERSIST)
    @JoinColumn(name = "address")
    private Address address;
    @ManyToMany
    @JoinTable(name = "friends", joinColumns = @JoinColumn(name = "person"), inverseJoinColumns = @JoinColumn(name = "friend"))
    @OrderBy("id")
    private List<Person> friends = new ArrayList<>();

    protected Person() {
    }

    /** Takes texts by the names of a form's fields. */
    Person(long id, Map<String, String> form, Address address) {
        this.id = id;
        name = form.getOrDefault("name", "");
        password = form.getOrDefault("password", "");
        email = form.getOrDefault("email", "");
        phone = form.getOrDefault("phone", "");
        summary = form.getOrDefault("summary", "");
        this.address = address;
    }

    public long getId() {
        return id;
    }

    public String getName() {
        return name;
    }

    public String getEmail() {
        return email;
    }

    public String getPhone() {
        return phone;
    }

    public String getSummary() {
        return summary;
    }

    public Address getAddress() {
        return address;
    }

    public List<Person> getFriends() {
        return friends;
    }
}
