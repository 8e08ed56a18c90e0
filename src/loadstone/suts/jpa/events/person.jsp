<%@ include file="rows.jspf" %>
<h1>${Escape.htmlElementContent(person.name)} of ${Escape.htmlElementContent(person.address.city)}</h1>
<img class="of" src="/events/store/people-small/${person.id}" alt="">
<% for (Object row : list(request, "friends")) { pageContext.setAttribute("row", row); %>
<a href="/events/person?id=${row.id}"><img class="of" src="/events/store/people-small/${row.id}" alt="${Escape.htmlElementContent(row.name)}"></a>
<% } %>
<% for (Object row : list(request, "events")) { pageContext.setAttribute("row", row); %>
<p>${row.id}: ${Escape.htmlElementContent(row.title)}</p>
<% } %>
<p>${invitations} invitations wait.</p>
<p>${Escape.htmlElementContent(person.email)}</p>
<p>${Escape.htmlElementContent(person.phone)}</p>
<p>${Escape.htmlElementContent(person.summary)}</p>
<p>${Escape.htmlElementContent(person.address.street)}</p>
<p>${Escape.htmlElementContent(person.address.city)}</p>
<p>${Escape.htmlElementContent(person.address.zip)}</p>
<p>${Escape.htmlElementContent(person.address.country)}</p>
