/* Tells a client its request and the environment, as a program that is started for each request (RFC 3875). */

#include <stdio.h>

extern char **environ;

int main(void)
{
    char **variable;

    puts("Content-Type: text/plain\r\n\r");
    for (variable = environ; *variable != NULL; variable++) {
        puts(*variable);
    }
    puts("end of environment");
    return fflush(stdout) == 0 ? 0 : 1;
}
