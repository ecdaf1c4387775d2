# tests/e2e/test_run_names.sh - `assay run -o`: %p, %h, %r, and one file for each rank of an MPI job.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 1
unset OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK MPI_LOCALRANKID SLURM_PROCID

is_run() { check "$1" sh -c "'$assay' verify '$2' >/dev/null 2>&1"; }

exits 0 "host and process" "$assay" run -o 'a.%h.%p.assay' -- true
set -- a.*.assay
check "one file" [ $# = 1 ]
is_run "which is a run" "$1"
check "with the host's name in it" sh -c "case '$1' in a.$(hostname).[0-9]*.assay) ;; *) exit 1 ;; esac"
exits 0 "a percent sign" "$assay" run -o '100%%.assay' -- true
is_run "is kept" '100%.assay'
exits 2 "a rank where there is none" "$assay" run -o 'r.%r.assay' -- true
says "no MPI launcher"
exits 2 "another letter" "$assay" run -o 'r.%x.assay' -- true
says "%p (process id)"
exits 2 "a percent sign at the end" "$assay" run -o 'r.assay%' -- true
for name in OMPI_COMM_WORLD_RANK PMIX_RANK PMI_RANK SLURM_PROCID; do
    rm -f run.*
    exits 0 "$name" env "$name=7" "$assay" run -- true
    is_run "names the run" run.7.assay
done
rm -f run.*
exits 0 "what is no rank is none" env OMPI_COMM_WORLD_RANK=../x "$assay" run -- true
is_run "and has the usual name" run.assay

# Ranks of a real launcher, where one is installed.
for launcher in mpirun.openmpi mpiexec.hydra mpirun.mpich; do
    command -v "$launcher" >/dev/null || continue
    rm -f run.*
    case $launcher in
    *openmpi) set -- "$launcher" --allow-run-as-root --oversubscribe -n 3 ;;
    *) set -- "$launcher" -n 3 ;;
    esac
    "$@" "$assay" run -- true >"$tmp/out" 2>&1 || fail "$launcher: $(cat "$tmp/out")"
    for rank in 0 1 2; do is_run "$launcher: rank $rank" "run.$rank.assay"; done
done
finish
