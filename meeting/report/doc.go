// Package report computes how rooms were used, what they were booked for, and how punctually meetings
// started and ended.
package report
