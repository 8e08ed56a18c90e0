<%@ include file="rows.jspf" %>
<h1>Event ${event.id}: ${Escape.htmlElementContent(event.title)}</h1>
<img class="of" src="/events/store/events/${event.id}" alt="">
<p>By <a href="/events/person?id=${event.submitter.id}">${Escape.htmlElementContent(event.submitter.name)}</a></p>
<a href="/events/store/papers/${event.id}">More about it</a>
<p>${Escape.htmlElementContent(event.summary)}</p>
<p>${Escape.htmlElementContent(event.description)}</p>
<p>${Escape.htmlElementContent(event.phone)}</p>
<p>${event.held}</p>
<p>${Escape.htmlElementContent(event.address.street)}</p>
<p>${Escape.htmlElementContent(event.address.city)}</p>
<p>${Escape.htmlElementContent(event.address.zip)}</p>
<p>${Escape.htmlElementContent(event.address.country)}</p>
<% for (Object row : list(request, "tags")) { pageContext.setAttribute("row", row); %>
<a href="/events/tag?name=${row.name}">${row.name}</a>
<% } %>
