import java.util.Map;
import javax.persistence.Entity;
import javax.persistence.Id;
import javax.persistence.Table;

/** Place of a person or of an event. */
@Entity
@Table(name = "addresses")
public class Address {
    @Id
    private long id;
    private String street;
    private String city;
    private String state;
    private String zip;
    private String country;
    /** In millionths of a degree. */
    private long latitude;
    private long longitude;

    protected Address() {
    }

    /** Takes texts by the names of a form's fields, and latitude and longitude. */
    Address(long id, Map<String, String> form, long[] place) {
        this.id = id;
        street = form.getOrDefault("street", "");
        city = form.getOrDefault("city", "");
        state = form.getOrDefault("state", "");
        zip = form.getOrDefault("zip", "");
        country = form.getOrDefault("country", "");
        latitude = place[0];
        longitude = place[1];
    }

    public String getStreet() {
        return street;
    }

    public String getCity() {
        return city;
    }

    public String getZip() {
        return zip;
    }

    public String getCountry() {
        return country;
    }
}
