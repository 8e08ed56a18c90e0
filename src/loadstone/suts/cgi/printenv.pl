#!/usr/bin/perl
# Tells a client its request and the environment, as a script that is started for each request (RFC 3875).
use strict;
use warnings;

print "Content-Type: text/plain\r\n\r\n";
print "$_=$ENV{$_}\n" for keys %ENV;
print "end of environment\n";
