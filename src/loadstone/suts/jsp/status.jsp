<%@ page contentType="application/json" session="false" trimDirectiveWhitespaces="true"
    import="java.lang.management.ManagementFactory, javax.management.MBeanServer, javax.management.ObjectName" %>
<%!
/** The sum of an attribute over the beans of a type: both connectors have one each. */
static long sum(String type, String attribute) throws Exception {
    MBeanServer beans = ManagementFactory.getPlatformMBeanServer();
    long sum = 0;
    for (ObjectName name : beans.queryNames(new ObjectName("Catalina:type=" + type + ",name=*"), null)) {
        sum += ((Number) beans.getAttribute(name, attribute)).longValue();
    }
    return sum;
}
%>
<%
long heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed();
String threads = "ThreadPool", requests = "GlobalRequestProcessor";
%>
{"now": {"busy threads": <%= sum(threads, "currentThreadsBusy") %>, "threads": <%= sum(threads, "currentThreadCount") %>,
"connections": <%= sum(threads, "connectionCount") %>, "heap, MB": <%= heap / 1_000_000 %>},
"grown": {"requests": <%= sum(requests, "requestCount") %>, "errors": <%= sum(requests, "errorCount") %>}}
