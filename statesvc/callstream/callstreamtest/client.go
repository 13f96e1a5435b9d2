// Package callstreamtest speaks to a stream of calls frame by frame, for tests of what a
// library's client would not do, and for measurements in which a client is to cost little.
package callstreamtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/pointsman/pointsman/statesvc/callstream"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Window is what a client that reads may be sent before it says more, in effect no bound.
const Window = 1 << 30

const (
	frameBytes  = 16 << 10 // that every peer takes
	firstWindow = 65535    // of a connection and, unless the peer says more, of a stream
	streamID    = 1
	waits       = 20 * time.Second
)

// Client has one stream on a connection of its own. It is for one goroutine; everything of
// it ends 20 seconds after Dial with an error at the latest.
type Client struct {
	conn   net.Conn
	framer *http2.Framer
	header *hpack.Decoder
	fields []hpack.HeaderField

	credit, connCredit int64 // bytes that may be sent
	initial            int64 // of a stream's credit, as the peer said
	in                 bytes.Buffer
	over               bool
}

// Dial opens a connection and a stream on it. window is how much of replies may come without
// more being said; nothing ever is. headers are names and values in turn.
func Dial(address string, window uint32, headers ...string) (*Client, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("dial: %w", err)
	}
	c := &Client{conn: conn, framer: http2.NewFramer(conn, conn), credit: firstWindow, connCredit: firstWindow, initial: firstWindow}
	c.header = hpack.NewDecoder(4096, func(f hpack.HeaderField) { c.fields = append(c.fields, f) })
	if err := c.open(window, headers); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return c, nil
}

func (c *Client) open(window uint32, headers []string) error {
	if err := c.conn.SetDeadline(time.Now().Add(waits)); err != nil {
		return err
	}
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	fields := append([]string{":method", "POST", ":scheme", "http", ":path", callstream.Path, ":authority", "x", "content-type", "application/grpc", "te", "trailers"}, headers...)
	for i := 0; i+1 < len(fields); i += 2 {
		if err := encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}); err != nil {
			return err
		}
	}
	_, err := io.WriteString(c.conn, http2.ClientPreface)
	err = errors.Join(err, c.framer.WriteSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: window}))
	if window > firstWindow {
		err = errors.Join(err, c.framer.WriteWindowUpdate(0, window-firstWindow))
	}
	return errors.Join(err, c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: streamID, BlockFragment: block.Bytes(), EndHeaders: true}))
}

// Close ends the connection, with whatever is open on it.
func (c *Client) Close() error { return c.conn.Close() }

// Frame puts gRPC's prefix before a message.
func Frame(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// Send writes bytes of the stream, and reads what comes while the peer takes no more.
func (c *Client) Send(b []byte) error {
	for len(b) > 0 {
		n := min(int64(len(b)), c.credit, c.connCredit, frameBytes)
		if n <= 0 {
			if err := c.read(); err != nil {
				return err
			}
			continue
		}
		if err := c.framer.WriteData(streamID, false, b[:n]); err != nil {
			return err
		}
		b = b[n:]
		c.credit -= n
		c.connCredit -= n
	}
	return nil
}

// CloseSend says that nothing more is sent.
func (c *Client) CloseSend() error { return c.framer.WriteData(streamID, true, nil) }

// Receive gives the next reply, encoded and valid until the next call of the client. io.EOF
// is the end of the stream: Field tells how it ended.
func (c *Client) Receive() ([]byte, error) {
	for {
		if b := c.in.Bytes(); len(b) >= 5 {
			if size := int(binary.BigEndian.Uint32(b[1:])) + 5; len(b) >= size {
				return c.in.Next(size)[5:], nil
			}
		}
		if c.over {
			return nil, io.EOF
		}
		if err := c.read(); err != nil {
			return nil, err
		}
	}
}

// Field gives a header or trailer of the response, empty when there is none.
func (c *Client) Field(name string) string {
	for _, f := range c.fields {
		if f.Name == name {
			return f.Value
		}
	}
	return ""
}

// read takes one frame.
func (c *Client) read() error {
	frame, err := c.framer.ReadFrame()
	if err != nil {
		return err
	}
	switch f := frame.(type) {
	case *http2.DataFrame:
		c.in.Write(f.Data())
		c.over = c.over || f.StreamEnded()
	case *http2.HeadersFrame:
		_, err = c.header.Write(f.HeaderBlockFragment())
		c.over = c.over || f.StreamEnded()
	case *http2.WindowUpdateFrame:
		if f.StreamID == 0 {
			c.connCredit += int64(f.Increment)
		} else {
			c.credit += int64(f.Increment)
		}
	case *http2.SettingsFrame:
		err = c.settings(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			err = c.framer.WritePing(true, f.Data)
		}
	case *http2.RSTStreamFrame:
		if !c.over || f.ErrCode != http2.ErrCodeNo {
			err = fmt.Errorf("the stream was reset: %v", f.ErrCode)
		}
	}
	return err
}

func (c *Client) settings(f *http2.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	if value, ok := f.Value(http2.SettingInitialWindowSize); ok {
		c.credit += int64(value) - c.initial
		c.initial = int64(value)
	}
	return c.framer.WriteSettingsAck()
}
