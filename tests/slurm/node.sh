#!/bin/sh
# A Slurm cluster of this machine alone, for tests: Debian's slurm-wlm and munge, as root.
#   node.sh start FOLDER    starts it, with its files in the folder, of which FOLDER/slurm.conf is to be SLURM_CONF
#   node.sh stop FOLDER     ends the daemons that were started
set -eu
folder=$2
name=$(hostname -s)

can_sign() { munge -n 2>/dev/null | unmunge >/dev/null 2>&1; }

start_munge() {
    key=$folder/munge.key
    head -c 1024 /dev/urandom > "$key"
    chmod 400 "$key"
    mkdir -p /run/munge
    # Slurm asks the socket that munge has by default.
    munged --force --key-file="$key" --pid-file="$folder/munged.pid" --log-file="$folder/munged.log" \
        --seed-file="$folder/munged.seed"
}

start() {
    mkdir -p "$folder/state" "$folder/spool"
    can_sign || start_munge
    cat > "$folder/slurm.conf" << END
ClusterName=dagsplit
SlurmctldHost=$name(127.0.0.1)
SlurmctldPort=16917
SlurmdPort=16918
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
NodeName=$name NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$name Default=YES State=UP
END
    slurmctld -f "$folder/slurm.conf"
    slurmd -f "$folder/slurm.conf"
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        SLURM_CONF=$folder/slurm.conf sinfo --noheader --format=%T 2>/dev/null | grep -q idle && return
        sleep 1
    done
    cat "$folder/slurmctld.log" "$folder/slurmd.log" >&2
    return 1
}

stop() {
    for daemon in slurmd slurmctld munged; do
        [ ! -s "$folder/$daemon.pid" ] || kill "$(cat "$folder/$daemon.pid")"
    done
}

case $1 in
start) start ;;
stop) stop ;;
esac
