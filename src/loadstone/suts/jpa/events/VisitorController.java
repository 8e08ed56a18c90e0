import jakarta.servlet.http.HttpServletResponse;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;

/** Visitors who sign in and out. */
@Controller
public class VisitorController {
    private final Programme programme;

    VisitorController(Programme programme) {
        this.programme = programme;
    }

    @PostMapping("/events/login")
    public String logIn(
        @RequestParam(name = "user", defaultValue = "") String name,
        @RequestParam(name = "password", defaultValue = "") String password,
        HttpServletResponse response,
        Model model) throws Site.Refused {
        Person person = programme.logIn(name, password).orElseThrow(() -> new Site.Refused(403));
        response.addCookie(Seat.of(person.getId()));
        model.addAttribute("title", "Events: welcome");
        model.addAttribute("outcome", "Welcome, " + person.getName());
        return "message";
    }

    @GetMapping("/events/logout")
    public String logOut(HttpServletResponse response, Model model) {
        response.addCookie(Seat.none());
        model.addAttribute("title", "Events: good-bye");
        model.addAttribute("outcome", "Signed out");
        return "message";
    }
}
