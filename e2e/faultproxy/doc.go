// Package faultproxy stands between a filter and the state service and spoils
// their calls: it delays them, loses them, delivers them twice or out of order,
// answers nonsense, or does not answer.
//
// The n-th call meets the fault that the seed and n determine, whatever the
// timing. Which report is the n-th is up to the filters.
package faultproxy
