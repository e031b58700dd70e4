// One login's worth of franz-go: writes a record, reads it back as a member of a group and commits, then tries what it
// may not. What to do comes as JSON on standard input, a list; of each login one line of JSON comes out.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"
)

type login struct {
	Address     string `json:"address"`
	Authority   string `json:"authority"`
	Certificate string `json:"certificate"`
	Key         string `json:"key"`
	Mechanism   string `json:"mechanism"`
	User        string `json:"user"`
	Password    string `json:"password"`
	ByToken     bool   `json:"by_token"`
	Topic       string `json:"topic"`
	Group       string `json:"group"`
	Value       string `json:"value"`
	OthersTopic string `json:"others_topic"`
	OthersGroup string `json:"others_group"`
}

type outcome struct {
	Read    bool   `json:"read"`
	Writing string `json:"writing"`
	Joining string `json:"joining"`
	Failure string `json:"failure"`
}

const patience = 60 * time.Second

func main() {
	var logins []login
	if err := json.NewDecoder(os.Stdin).Decode(&logins); err != nil {
		panic(err)
	}
	for _, each := range logins {
		told, err := each.run()
		if err != nil {
			told.Failure = err.Error()
		}
		line, _ := json.Marshal(told)
		fmt.Println(string(line))
	}
}

func (l login) run() (outcome, error) {
	var told outcome
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	own, err := l.options()
	if err != nil {
		return told, err
	}
	producer, err := kgo.NewClient(own...)
	if err != nil {
		return told, err
	}
	defer producer.Close()
	if err := producer.ProduceSync(ctx, &kgo.Record{Topic: l.Topic, Value: []byte(l.Value)}).FirstErr(); err != nil {
		return told, fmt.Errorf("producing: %w", err)
	}
	err = producer.ProduceSync(ctx, &kgo.Record{Topic: l.OthersTopic, Value: []byte(l.Value)}).FirstErr()
	told.Writing = name(err)
	if told.Read, err = l.read(ctx, own, l.Group); err != nil {
		return told, fmt.Errorf("reading: %w", err)
	}
	_, err = l.read(ctx, own, l.OthersGroup)
	told.Joining = name(err)
	return told, nil
}

func (l login) read(ctx context.Context, own []kgo.Opt, group string) (bool, error) {
	beginning := kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())
	consumer, err := kgo.NewClient(append(own, kgo.ConsumerGroup(group), kgo.ConsumeTopics(l.Topic), beginning)...)
	if err != nil {
		return false, err
	}
	defer consumer.Close()
	for {
		fetches := consumer.PollFetches(ctx)
		if err := fetches.Err(); err != nil {
			return false, err
		}
		for _, record := range fetches.Records() {
			if string(record.Value) == l.Value {
				return true, consumer.CommitUncommittedOffsets(ctx)
			}
		}
	}
}

func (l login) options() ([]kgo.Opt, error) {
	trusted, err := os.ReadFile(l.Authority)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(trusted)
	settings := &tls.Config{RootCAs: authorities}
	if l.Certificate != "" {
		own, err := tls.LoadX509KeyPair(l.Certificate, l.Key)
		if err != nil {
			return nil, err
		}
		settings.Certificates = []tls.Certificate{own}
	}
	options := []kgo.Opt{kgo.SeedBrokers(l.Address), kgo.DialTLSConfig(settings)}
	if l.Mechanism != "" {
		options = append(options, kgo.SASL(l.mechanism()))
	}
	return options, nil
}

func (l login) mechanism() sasl.Mechanism {
	salted := scram.Auth{User: l.User, Pass: l.Password, IsToken: l.ByToken}
	switch l.Mechanism {
	case "PLAIN":
		return plain.Auth{User: l.User, Pass: l.Password}.AsMechanism()
	case "SCRAM-SHA-256":
		return salted.AsSha256Mechanism()
	case "SCRAM-SHA-512":
		return salted.AsSha512Mechanism()
	case "OAUTHBEARER":
		return oauth.Auth{Token: l.Password}.AsMechanism()
	}
	panic(l.Mechanism)
}

// The name of Kafka's code, or what the error says.
func name(err error) string {
	var told *kerr.Error
	if errors.As(err, &told) {
		return told.Message
	}
	if err == nil {
		return ""
	}
	return err.Error()
}
