package callstream

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"google.golang.org/grpc/codes"
)

// prefixBytes stand before each message of a gRPC body: a byte that is 1 when it is
// compressed, and its length in four, the highest first.
const prefixBytes = 5

const (
	stopping     = "the service stops; open the stream anew"
	uncompressed = "send messages without compression"
)

// protocolError is why a stream cannot go on. Its message is plain ASCII without a percent
// sign, as it goes into a header field.
type protocolError struct {
	code    codes.Code
	message string
}

func (e *protocolError) Error() string { return e.message }

// readFrame reads one message of at most so many bytes. It is the caller's. io.EOF is the end
// of a body that ended between messages.
func readFrame(r io.Reader, most int) ([]byte, error) {
	var prefix [prefixBytes]byte
	if _, err := io.ReadFull(r, prefix[:]); err != nil {
		return nil, err
	}
	size := binary.BigEndian.Uint32(prefix[1:])
	switch {
	case prefix[0] == 1:
		return nil, &protocolError{codes.Unimplemented, uncompressed}
	case prefix[0] != 0:
		return nil, &protocolError{codes.InvalidArgument, "not a gRPC message: its first byte is neither 0 nor 1"}
	case uint64(size) > uint64(most):
		return nil, &protocolError{codes.ResourceExhausted, fmt.Sprintf("a call is larger than %d bytes; send those with large bodies by POST /v1/observe", most)}
	}
	message := make([]byte, size)
	if _, err := io.ReadFull(r, message); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	return message, nil
}

// begin sets the header of a response.
func begin(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/grpc")
	w.WriteHeader(http.StatusOK)
}

// finish sets the trailers of a response whose header was sent.
func finish(w http.ResponseWriter, code codes.Code, message string) {
	w.Header().Set(http.TrailerPrefix+"Grpc-Status", strconv.Itoa(int(code)))
	if message != "" {
		w.Header().Set(http.TrailerPrefix+"Grpc-Message", message)
	}
}

// Refuse answers a gRPC request with a status alone. The message is plain ASCII without a
// percent sign.
func Refuse(w http.ResponseWriter, code codes.Code, message string) {
	w.Header().Set("Grpc-Status", strconv.Itoa(int(code)))
	w.Header().Set("Grpc-Message", message)
	begin(w)
}
