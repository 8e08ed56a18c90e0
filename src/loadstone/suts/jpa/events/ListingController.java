import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Optional;
import org.springframework.http.HttpStatus;
import org.springframework.http.ResponseEntity;
import org.springframework.stereotype.Controller;
import org.springframework.ui.Model;
import org.springframework.web.bind.annotation.CookieValue;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PostMapping;
import org.springframework.web.bind.annotation.RequestParam;

/** Pages with lists of events. What they show everybody is a fragment of a page, which the cache keeps. */
@Controller
public class ListingController {
    private final Programme programme;
    private final Cache cache;

    ListingController(Programme programme, Cache cache) {
        this.programme = programme;
        this.cache = cache;
    }

    @GetMapping("/events/home")
    public String home(
        @CookieValue(name = Seat.COOKIE, defaultValue = "") String shown,
        HttpServletRequest request,
        HttpServletResponse response,
        Model model) throws ServletException, IOException {
        String kept = cache.get(Cache.HOME);
        if (kept == null) {
            kept = renderHome(request, response);
            cache.put(Cache.HOME, kept);
        }
        int between = kept.indexOf(Cache.BETWEEN);
        Optional<Long> seat = Seat.read(shown);
        model.addAttribute("title", "Events: home");
        model.addAttribute("operation", "home");
        model.addAttribute("visitor", seat.flatMap(programme::findName).orElse(null));
        model.addAttribute("comingUp", kept.substring(0, between));
        model.addAttribute("attended", seat.map(programme::listAttended).orElse(List.of()));
        model.addAttribute("cloud", kept.substring(between + 1));
        return "home";
    }

    private String renderHome(HttpServletRequest request, HttpServletResponse response) throws ServletException, IOException {
        String heading = "Coming up: " + programme.countComingUp() + " events";
        String events = renderEvents(heading, programme.listComingUp(), request, response);
        request.setAttribute("tags", programme.listMostUsedTags());
        return events + Cache.BETWEEN + JspText.render("/WEB-INF/cloud.jsp", request, response);
    }

    @PostMapping("/events/search")
    public ResponseEntity<Void> search(@RequestParam(name = "tag", defaultValue = "") String tag) {
        String query = URLEncoder.encode(tag, StandardCharsets.UTF_8);
        return ResponseEntity.status(HttpStatus.SEE_OTHER).location(URI.create("/events/tag?name=" + query)).build();
    }

    @GetMapping("/events/tag")
    public String tag(
        @RequestParam(name = "name", defaultValue = "") String name,
        HttpServletRequest request,
        HttpServletResponse response,
        Model model) throws Site.Refused, ServletException, IOException {
        Optional<String> keptAs = Cache.nameOfTag(name);
        String kept = keptAs.map(cache::get).orElse(null);
        if (kept == null) {
            Tag tag = programme.findTag(name).orElseThrow(() -> new Site.Refused(404));
            String heading = "Tagged " + name + ": " + tag.getUses() + " events";
            kept = renderEvents(heading, programme.listTagged(tag), request, response);
            if (keptAs.isPresent()) {
                cache.put(keptAs.get(), kept);
            }
        }
        model.addAttribute("title", "Events: tag");
        model.addAttribute("operation", "tag_search");
        model.addAttribute("tagged", kept);
        return "tag";
    }

    @PostMapping("/events/renew")
    public String renew(Model model) {
        cache.empty();
        model.addAttribute("title", "Events: renewed");
        model.addAttribute("outcome", "Nothing is kept");
        return "message";
    }

    private static String renderEvents(
        String heading, List<Event> events, HttpServletRequest request, HttpServletResponse response)
        throws ServletException, IOException {
        request.setAttribute("heading", heading);
        request.setAttribute("events", events);
        return JspText.render("/WEB-INF/listed.jsp", request, response);
    }
}
