// Package report computes how rooms were used, and how punctually meetings started and ended.
package report
