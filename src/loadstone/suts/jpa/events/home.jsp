<%@ include file="rows.jspf" %>
<% if (request.getAttribute("visitor") == null) { %>
<form action="/events/login" method="post">Your name and password: <input name="user"> <input name="password" type="password"></form>
<% } else { %>
<p>Signed in as ${Escape.htmlElementContent(visitor)}</p>
<% } %>
${comingUp}
<h2>You are going to</h2>
<% for (Object row : list(request, "attended")) { pageContext.setAttribute("row", row); %>
<a href="/events/event?id=${row.id}">${Escape.htmlElementContent(row.title)}</a>
<% } %>
${cloud}
