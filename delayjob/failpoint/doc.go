// Package failpoint lets tests kill the program at a chosen place. Without the build tag failpoint,
// Reach is empty and inlined away.
//
// A program built with the tag kills itself with SIGKILL at the place in the environment variable
// FAILPOINT: place, or place/about for one job, and with :n at the end for its nth time there. With
// FAILPOINT_FREEZES set, it stops itself with SIGSTOP instead and continues on SIGCONT.
package failpoint
