package hostsim

import (
	"context"
	"log/slog"
	"strings"
)

// LogLevel is the level of a proxy_log call.
type LogLevel uint32

// Log levels of the ABI.
const (
	LogTrace    LogLevel = 0
	LogDebug    LogLevel = 1
	LogInfo     LogLevel = 2
	LogWarn     LogLevel = 3
	LogError    LogLevel = 4
	LogCritical LogLevel = 5
)

// String returns the level's lower case name.
func (l LogLevel) String() string {
	names := [...]string{"trace", "debug", "info", "warn", "error", "critical"}
	if int(l) < len(names) {
		return names[l]
	}
	return "unknown"
}

// LogSink receives what a guest logs, writes to stdout (info) or to stderr (error). It must not block and is called
// on the goroutine that drives the VM.
type LogSink func(level LogLevel, message string)

// SlogSink passes guest logs to logger. Trace becomes debug, critical becomes error.
func SlogSink(logger *slog.Logger) LogSink {
	levels := map[LogLevel]slog.Level{
		LogTrace: slog.LevelDebug, LogDebug: slog.LevelDebug, LogInfo: slog.LevelInfo,
		LogWarn: slog.LevelWarn, LogError: slog.LevelError, LogCritical: slog.LevelError,
	}
	return func(level LogLevel, message string) {
		logger.Log(context.Background(), levels[level], message, slog.String("source", "filter"))
	}
}

// logged passes a line of the guest on; errors during the start are kept for the start's own error.
func (vm *VM) logged(level LogLevel, text string) {
	if level >= LogError && !vm.started {
		vm.complaints = append(vm.complaints, text)
	}
	vm.opts.Log(level, text)
}

// noteLastWords keeps the line with which a Go runtime gives up.
func (vm *VM) noteLastWords(line string) {
	if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
		vm.lastWords = line
	}
}

// reason is why a guest call failed, in one line.
func (vm *VM) reason(err error) string {
	if vm.lastWords == "" {
		return firstLine(err)
	}
	return vm.lastWords + " (" + firstLine(err) + ")"
}
