import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.util.List;
import java.util.Map;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.CookieValue;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.multipart.MultipartFile;

/** People, events and attendances that visitors add, and their audit. */
@Controller
public class AdditionController {
    private final Programme programme;
    private final Contributions contributions;
    private final Pictures pictures;
    private final Geocoder geocoder;
    private final Cache cache;

    AdditionController(
        Programme programme, Contributions contributions, Pictures pictures, Geocoder geocoder, Cache cache) {
        this.programme = programme;
        this.contributions = contributions;
        this.pictures = pictures;
        this.geocoder = geocoder;
        this.cache = cache;
    }

    @PostMapping("/events/attend")
    public void attend(
        @CookieValue(name = Seat.COOKIE, defaultValue = "") String shown,
        @RequestParam("id") long event,
        HttpServletResponse response) throws Site.Refused, IOException {
        long person = readSeat(shown);
        if (!attend(event, person)) {
            throw new Site.Refused(404);
        }
        List<String> names = programme.listAttendees(event);
        Site.json(response, EventsJson.attendees(event, names, programme.findName(person)));
    }

    private boolean attend(long event, long person) {
        try {
            return Conflicts.retry(() -> contributions.attend(event, person));
        } catch (RuntimeException error) {
            if (Conflicts.isDuplicate(error)) {
                // Another request of this person was faster.
                return true;
            }
            throw error;
        }
    }

    @GetMapping("/events/add-person")
    public String askPerson(Model model) {
        model.addAttribute("title", "Events: new person");
        model.addAttribute("outcome", "Who are you?");
        return "message";
    }

    @PostMapping("/events/add-person")
    public ResponseEntity<Void> addPerson(
        @RequestParam Map<String, String> form, @RequestParam("picture") MultipartFile picture)
        throws Site.Refused, IOException, InterruptedException {
        require(form, "name");
        require(form, "password");
        long id = Additions.newId();
        pictures.keep(picture.getBytes(), "people", "people-small", id);
        Address address = locate(id, form);
        Conflicts.retry(() -> {
            contributions.addPerson(new Person(id, form, address));
            return id;
        });
        return goTo("/events/person?id=" + id);
    }

    @GetMapping("/events/add-event")
    public String askEvent(Model model) {
        model.addAttribute("title", "Events: new event");
        model.addAttribute("outcome", "What is on?");
        return "message";
    }

    @PostMapping("/events/add-event")
    public ResponseEntity<Void> addEvent(
        @CookieValue(name = Seat.COOKIE, defaultValue = "") String shown,
        @RequestParam Map<String, String> form,
        @RequestParam("picture") MultipartFile picture,
        @RequestParam("literature") MultipartFile literature) throws Site.Refused, IOException, InterruptedException {
        long submitter = readSeat(shown);
        require(form, "title");
        long id = Additions.newId();
        pictures.keep(picture.getBytes(), "events", "events-small", id);
        pictures.put("papers", id, literature.getBytes());
        Address address = locate(id, form);
        List<String> tags = List.of(form.getOrDefault("tags", "").split("\\s+"));
        Conflicts.retry(() -> {
            contributions.addEvent(id, form, submitter, address, tags);
            return id;
        });
        cache.forget(Cache.namesOfEvent(tags));
        return goTo("/events/event?id=" + id);
    }

    @GetMapping("/audit")
    public void audit(HttpServletResponse response) throws IOException {
        Site.json(response, contributions.audit());
    }

    private static long readSeat(String shown) throws Site.Refused {
        return Seat.read(shown).orElseThrow(() -> new Site.Refused(403));
    }

    private static void require(Map<String, String> form, String name) throws Site.Refused {
        if (form.getOrDefault(name, "").isEmpty()) {
            throw new Site.Refused(400);
        }
    }

    private Address locate(long id, Map<String, String> form) throws IOException, InterruptedException {
        long[] place = geocoder.find(
            form.getOrDefault("street", ""), form.getOrDefault("city", ""), form.getOrDefault("zip", ""));
        return new Address(id, form, place);
    }

    private static ResponseEntity<Void> goTo(String place) {
        return ResponseEntity.status(HttpStatus.SEE_OTHER).location(URI.create(place)).build();
    }
}
