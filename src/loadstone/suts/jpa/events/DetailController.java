import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.util.Optional;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;

/** Pages of one event or person, and what they ask for. */
@Controller
public class DetailController {
    private final Programme programme;
    private final Pictures pictures;

    DetailController(Programme programme, Pictures pictures) {
        this.programme = programme;
        this.pictures = pictures;
    }

    @GetMapping("/events/event")
    public String event(@RequestParam("id") long id, Model model) throws Site.Refused {
        Event event = programme.findEvent(id).orElseThrow(() -> new Site.Refused(404));
        model.addAttribute("title", "Events: event");
        model.addAttribute("operation", "event_detail");
        model.addAttribute("event", event);
        model.addAttribute("tags", event.getTags());
        return "event";
    }

    @GetMapping("/events/comments")
    public void comments(@RequestParam("id") long event, HttpServletResponse response) throws IOException {
        Site.json(response, EventsJson.comments(event, programme.listComments(event)));
    }

    @GetMapping("/events/attendees")
    public void attendees(@RequestParam("id") long event, HttpServletResponse response) throws IOException {
        Site.json(response, EventsJson.attendees(event, programme.listAttendees(event), Optional.empty()));
    }

    @GetMapping("/events/person")
    public String person(@RequestParam("id") long id, Model model) throws Site.Refused {
        Person person = programme.findPerson(id).orElseThrow(() -> new Site.Refused(404));
        model.addAttribute("title", "Events: person");
        model.addAttribute("operation", "person_detail");
        model.addAttribute("person", person);
        model.addAttribute("friends", person.getFriends());
        model.addAttribute("events", programme.listSubmitted(person));
        model.addAttribute("invitations", programme.countInvitations(person));
        return "person";
    }

    @GetMapping(Pictures.PATH + "**")
    public void picture(HttpServletRequest request, HttpServletResponse response)
        throws IOException, InterruptedException, Site.Refused {
        pictures.send(request.getRequestURI(), response);
    }
}
