// Package failpoint lets tests kill the program at a place where a crash is interesting. Without
// the build tag failpoint it is nothing: Reach is empty and inlined away.
//
// A program built with the tag kills itself with SIGKILL where the environment says:
// FAILPOINT=place, place/about to wait for a certain job, and with :n at the end for the
// nth time it comes there. With FAILPOINT_FREEZES set it stops itself there instead, with
// SIGSTOP, and goes on when somebody sends SIGCONT.
package failpoint
