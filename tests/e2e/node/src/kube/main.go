// kube: one multi-call binary with all of a single-node Kubernetes cluster in it, and kubectl: most of their code is shared.
// The component is chosen by the name it is called by (symlink) or by its first argument.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/etcdmain"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	_ "k8s.io/component-base/metrics/prometheus/version"

	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	kcm "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"

	kubectl "k8s.io/kubectl/pkg/cmd"
	kubectlutil "k8s.io/kubectl/pkg/cmd/util"
)

func k8s(f func() *cobra.Command) func() int {
	return func() int { return cli.Run(f()) }
}

func runKubectl() int {
	if err := cli.RunNoErrOutput(kubectl.NewDefaultKubectlCommand()); err != nil {
		kubectlutil.CheckErr(err)
	}
	return 0
}

var tools = map[string]func() int{
	"kube-apiserver":          k8s(apiserver.NewAPIServerCommand),
	"kube-controller-manager": k8s(kcm.NewControllerManagerCommand),
	"kube-scheduler":          k8s(func() *cobra.Command { return scheduler.NewSchedulerCommand() }),
	"kubelet":                 k8s(func() *cobra.Command { return kubelet.NewKubeletCommand() }),
	"kube-proxy":              k8s(proxy.NewProxyCommand),
	"kubectl":                 runKubectl,
	"etcd":                    func() int { etcdmain.Main(os.Args); return 0 },
}

func main() {
	name := filepath.Base(os.Args[0])
	if tools[name] == nil && len(os.Args) > 1 {
		name = os.Args[1]
		os.Args = os.Args[1:]
	}
	f := tools[name]
	if f == nil {
		var names []string
		for n := range tools {
			names = append(names, n)
		}
		sort.Strings(names)
		fmt.Fprintln(os.Stderr, "kube: one of", names)
		os.Exit(2)
	}
	os.Exit(f())
}
