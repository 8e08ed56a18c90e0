import java.io.IOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Where an address is, asked of a service. */
final class Geocoder {
    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final Pattern PLACE = Pattern.compile("<Latitude>([-0-9.]+)</Latitude><Longitude>([-0-9.]+)</Longitude>");

    private final HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).connectTimeout(PATIENCE).build();
    private final String base;

    Geocoder(String address) {
        base = "http://" + address + "/geocode";
    }

    /** Latitude and longitude in millionths of a degree. */
    long[] find(String street, String city, String zip) throws IOException, InterruptedException {
        String query = "?street=" + coded(street) + "&city=" + coded(city) + "&zip=" + coded(zip);
        HttpRequest request = HttpRequest.newBuilder(URI.create(base + query)).timeout(PATIENCE).build();
        Matcher place = PLACE.matcher(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
        if (!place.find()) {
            throw new IOException("the geocoder's answer names no place");
        }
        return new long[] {Math.round(Double.parseDouble(place.group(1)) * 1e6), Math.round(Double.parseDouble(place.group(2)) * 1e6)};
    }

    private static String coded(String text) {
        return URLEncoder.encode(text, StandardCharsets.UTF_8);
    }
}
