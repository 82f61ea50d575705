// Package report adds up what became of meetings: how rooms were used, and how punctually
// meetings started and ended.
package report
