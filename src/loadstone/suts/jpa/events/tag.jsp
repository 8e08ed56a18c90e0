<%@ page session="false" trimDirectiveWhitespaces="true" %>
${tagged}
